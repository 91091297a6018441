"""Each check of the doctor, with what it looks for taken away."""

from __future__ import annotations

import importlib.metadata
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hvm4viz import health
from hvm4viz.device import DeviceInfo, compiler
from hvm4viz.errors import DeviceFailed, DeviceUnavailable


def test_an_old_python_is_to_be_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 10, 4))

    check = health.python()

    assert (check.verdict, check.fix) == ("FIX", "python3.11 -m venv .venv")
    assert "3.11 or later, 64-bit, is needed" in check.detail


def packages_with(monkeypatch: pytest.MonkeyPatch, version: Callable[[str], str], asked: list[str]) -> list[Any]:
    monkeypatch.setattr(importlib.metadata, "requires", lambda _: asked)
    monkeypatch.setattr(importlib.metadata, "version", version)
    return list(health.packages())[1:]


def test_a_missing_package_is_named_with_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    (check,) = packages_with(monkeypatch, absent, ["numpy>=1.26", 'ruff>=0.9; extra == "dev"'])

    assert (check.name, check.verdict, check.fix) == ("numpy", "FIX", "pip install 'numpy>=1.26'")


@pytest.mark.parametrize(
    ("version", "verdict"), [("1.25.9", "FIX"), ("1.26", "ok"), ("1.26.0rc1", "ok"), ("2.0", "ok")]
)
def test_an_old_package_is_to_be_replaced(monkeypatch: pytest.MonkeyPatch, version: str, verdict: str) -> None:
    (check,) = packages_with(monkeypatch, lambda _: version, ["numpy>=1.26"])

    assert check.verdict == verdict
    assert version in check.detail


def test_a_checkout_that_is_not_installed_is_no_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> list[str]:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "requires", absent)

    (check,) = health.packages()
    assert (check.verdict, check.fix) == ("optional", "pip install -e .")


def test_without_room_for_kernels_another_folder_is_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: str) -> Path:
        raise DeviceUnavailable("no folder takes the compiled kernel: name one in HVM4VIZ_CACHE")

    monkeypatch.setattr(health, "library", full)

    check = health.compiler()

    assert (check.verdict, check.fix) == ("FIX", "export HVM4VIZ_CACHE=/a/folder/of/yours")


def test_without_a_compiler_ziglang_is_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent() -> object:
        raise DeviceUnavailable(compiler.ADVICE)

    monkeypatch.setattr(health, "find_compiler", absent)

    check = health.compiler()
    assert (check.verdict, check.fix) == ("FIX", "pip install ziglang")


def test_a_cache_that_cannot_be_written_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("HVM4VIZ_CACHE", str(tmp_path / "file" / "cache"))

    check = health.cache()

    assert check.verdict == "optional"
    assert str(tmp_path / "file" / "cache") in check.detail
    assert check.fix.startswith("export HVM4VIZ_CACHE=")
    monkeypatch.setenv("HVM4VIZ_CACHE", str(tmp_path))
    assert health.cache().verdict == "ok"


def test_a_device_that_cannot_be_here_is_no_fault() -> None:
    (check,) = health.device(DeviceInfo("cuda", usable=False, detail="cuda: there is no such GPU"))

    assert (check.verdict, check.detail, check.fix) == ("not here", "there is no such GPU", "")


@pytest.mark.parametrize(
    "detail", ["metal: metalcompute is not installed; run: pip install metalcompute", "no (`pip install metalcompute`)"]
)
def test_a_device_that_can_be_had_says_how(detail: str) -> None:
    check = next(health.device(DeviceInfo("metal", usable=False, detail=detail)))

    assert (check.verdict, check.fix) == ("optional", "pip install metalcompute")
    assert "pip" not in check.detail


def test_a_device_that_is_there_and_does_not_work_is_to_be_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> object:
        raise DeviceFailed("it took a dispatch and did not run it")

    monkeypatch.setattr(health, "run", broken)

    (check,) = health.device(DeviceInfo("cpu", usable=True, detail="cpu (x)"))
    assert (check.verdict, check.fix) == ("FIX", "hvm4viz selftest --device cpu")
    assert check.detail == "cpu (x): it took a dispatch and did not run it"


def test_a_device_that_gives_another_answer_is_to_be_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    class Other:
        text, message = "#Pair{4,3}", ""

    monkeypatch.setattr(health, "run", lambda *_, **__: Other)

    (check,) = health.device(DeviceInfo("cpu", usable=True, detail="cpu (x)"))
    assert check.verdict == "FIX"
    assert "gave '#Pair{4,3}'" in check.detail


def test_without_jupyterlab_the_rest_works(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "find_spec", lambda name: None if name == "jupyterlab" else object())

    check = health.lab()
    assert (check.verdict, check.fix) == ("optional", 'pip install "hvm4viz[lab]"')


def test_a_widget_without_its_files_is_to_be_installed_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import hvm4viz.widgets

    monkeypatch.setattr(hvm4viz.widgets, "__file__", str(tmp_path / "__init__.py"))

    check = health.widget()
    assert check.verdict == "FIX"
    assert check.detail.startswith("trace_view.js, trace_view.css")


def test_a_widget_without_jupyterlabs_part_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "_labextension", lambda _: None)

    check = health.widget()
    assert (check.verdict, check.fix) == ("optional", "pip install jupyterlab_widgets")
