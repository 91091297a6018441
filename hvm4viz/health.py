"""The checks of ``doctor``: one thing each, what was found, and the one command that puts it right."""

from __future__ import annotations

import os
import platform
import re
import struct
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from hvm4viz import __version__
from hvm4viz.device import DeviceInfo
from hvm4viz.device.compiler import cache_folder, find_compiler, library, wanted_cache
from hvm4viz.device.metal_facts import METAL_FACTS
from hvm4viz.diagnosis import Check
from hvm4viz.errors import DeviceError, Hvm4vizError
from hvm4viz.run import run

_PYTHON: Final = (3, 11)
_PROGRAM: Final = "@main = #Pair{1 + 2, 3}"
_ANSWER: Final = "#Pair{3,3}"
_OTHER_CACHE: Final = "export HVM4VIZ_CACHE=/a/folder/of/yours"
_COMMAND: Final = re.compile(r"[;,(]?\s*(?:run: |`)((?:pip|python3?|export) [^`]*)`?\)?$")


def python() -> Check:
    """Look at the interpreter."""
    bits = 8 * struct.calcsize("P")
    detail = f"{platform.python_version()}, {bits}-bit, {sys.executable or 'embedded'}"
    if sys.version_info[:2] < _PYTHON or bits != 64:
        wanted = ".".join(map(str, _PYTHON))
        fix = f"python{wanted} -m venv .venv"
        return Check("Python", "FIX", f"{detail}; {wanted} or later, 64-bit, is needed", fix)
    return Check("Python", "ok", detail)


def packages() -> Iterator[Check]:
    """Look at what the package itself asks for; extras and other systems' packages are left out."""
    from importlib.metadata import PackageNotFoundError, requires, version

    try:
        asked = requires("hvm4viz") or []
    except PackageNotFoundError:
        yield Check("hvm4viz", "optional", f"{__version__}, used from a folder, not installed", "pip install -e .")
        return
    yield Check("hvm4viz", "ok", __version__)
    for text in asked:
        match = re.fullmatch(r"([\w.-]+)\s*(?:>=\s*([\d.]+))?", text)
        if match is None:
            continue
        name, least = match[1], match[2] or "0"
        fix = f"pip install '{name}>={least}'"
        try:
            found = version(name)
        except PackageNotFoundError:
            yield Check(name, "FIX", "not installed", fix)
            continue
        is_new = _numbers(found) >= _numbers(least)
        yield Check(name, "ok", found) if is_new else Check(name, "FIX", f"{found}; {least} is needed", fix)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])


def compiler() -> Check:
    """Look for what every device needs: the evaluator, and the joins of passes, run on the host."""
    try:
        found = find_compiler()
        library('extern "C" int hvm4viz_doctor() { return 1; }\n')
    except DeviceError as error:
        fix = _OTHER_CACHE if "HVM4VIZ_CACHE" in str(error) else "pip install ziglang"
        return Check("C++ compiler", "FIX", str(error), fix)
    return Check("C++ compiler", "ok", " ".join(found.command))


def cache() -> Check:
    """Look at the folder of compiled kernels."""
    folder = cache_folder()
    if folder is None:
        detail = f"{wanted_cache()} cannot be written: the kernel is compiled anew in every process"
        return Check("cache folder", "optional", detail, _OTHER_CACHE)
    kept = sum(path.stat().st_size for path in folder.glob("kernel-*"))
    return Check("cache folder", "ok", f"{folder}, {kept / 2**20:.1f} MiB of compiled kernels")


def device(info: DeviceInfo) -> Iterator[Check]:
    """Look at a kind of device, and run a small program there."""
    name = f"device {info.kind}"
    if info.usable:
        yield _runs(name, info)
    else:
        reason = info.detail.removeprefix(f"{info.kind}: ")
        command = _COMMAND.search(reason)
        if command:
            yield Check(name, "optional", reason[: command.start()], command[1])
        else:
            yield Check(name, "not here", reason)
    if info.kind == "metal":
        for fact in METAL_FACTS:
            yield Check("", "note", fact)


def _runs(name: str, info: DeviceInfo) -> Check:
    prove = f"hvm4viz selftest --device {info.kind}"
    try:
        found = run(_PROGRAM, device=info.kind, record="off", progress=False, timeout=60.0)
    except Hvm4vizError as error:
        return Check(name, "FIX", f"{info.detail}: {error}", prove)
    if found.text != _ANSWER:
        return Check(name, "FIX", f"{info.detail}: {found.message or f'{_PROGRAM} gave {found.text!r}'}", prove)
    return Check(name, "ok", f"{info.detail}; runs a program")


def lab() -> Check:
    """Look for JupyterLab."""
    from importlib.metadata import version

    if find_spec("jupyterlab") is None or find_spec("ipykernel") is None:
        fix = 'pip install "hvm4viz[lab]"'
        return Check("JupyterLab", "optional", "not installed: hvm4viz lab opens the notebooks in it", fix)
    return Check("JupyterLab", "ok", version("jupyterlab"))


def widget() -> Check:
    """Look at the notebook's live view: its front-end files, and what JupyterLab needs to show a widget."""
    import hvm4viz.widgets

    folder = Path(hvm4viz.widgets.__file__).parent
    missing = [name for name in ("trace_view.js", "trace_view.css") if not (folder / name).is_file()]
    if missing:
        fix = "pip install --force-reinstall hvm4viz"
        return Check("widget", "FIX", f"{', '.join(missing)}: missing from the package", fix)
    manager = _labextension("@jupyter-widgets/jupyterlab-manager")
    if manager is None:
        detail = "its files are here; JupyterLab's part is not: notebooks show a picture instead"
        return Check("widget", "optional", detail, "pip install jupyterlab_widgets")
    return Check("widget", "ok", f"its files, and JupyterLab's part in {manager}")


def _labextension(name: str) -> Path | None:
    """Return the folder of a front-end extension, in any of the places where JupyterLab looks."""
    roots = [Path(sys.prefix), Path("/usr/local"), Path("/usr"), Path("~/.local").expanduser()]
    named = os.environ.get("JUPYTER_PATH", "")
    jupyters = [root / "share" / "jupyter" for root in roots] + [Path(part) for part in named.split(os.pathsep) if part]
    return next((found for each in jupyters if (found := each / "labextensions" / name).is_dir()), None)
