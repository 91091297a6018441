"""The kinds of device, found by file name: a module of this folder that has ``open`` is one."""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hvm4viz.device.base import Device
from hvm4viz.errors import DeviceUnavailable


@dataclass(frozen=True, slots=True)
class DeviceInfo:
    """What ``devices()`` says of one kind of device.

    Attributes
    ----------
    kind : str
        Value for ``run(..., device=kind)``.
    usable : bool
    detail : str
        The device's name, or why it is not usable and what to do.
    """

    kind: str
    usable: bool
    detail: str


_ORDER = ("metal", "cuda", "cpu", "sim")
"""Preference of ``device="auto"``; kinds that are not built are passed over."""

_GPUS = {"cuda": "NVIDIA", "metal": "Mac"}


def kinds() -> tuple[str, ...]:
    """Return the kinds of device in this package, best first."""
    folder = str(Path(__file__).parent)
    found = [module.name for module in pkgutil.iter_modules([folder])]
    built = [name for name in found if hasattr(importlib.import_module(f"hvm4viz.device.{name}"), "open")]
    return tuple(sorted(built, key=lambda kind: _ORDER.index(kind) if kind in _ORDER else len(_ORDER)))


def named(device: str) -> tuple[str, str]:
    """Split the name of a device into its kind and which of that kind: ``cuda:0,1`` are two GPUs that work as one.

    Raises
    ------
    DeviceUnavailable
        If there is no such kind, or if it is one of which there is one alone.
    """
    kind, colon, which = device.partition(":")
    known = kinds()
    if kind not in ("auto", *known):
        gpus = " and ".join(f"{name} ({of})" for name, of in _GPUS.items() if name in known)
        others = ", ".join(["auto", *(name for name in known if name not in _GPUS)])
        raise DeviceUnavailable(f"there is no device {kind!r}; GPUs are {gpus}; others: {others}")
    if colon and kind != "cuda":
        raise DeviceUnavailable(f"device {device!r}: only GPUs of kind cuda are numbered; use {kind!r}")
    return kind, which


def open_device(kind: str = "auto", *, workers: int | None = None, seed: int = 0) -> Device:
    """Open a device.

    Parameters
    ----------
    kind : str
        ``"auto"`` or one of ``kinds()``; auto never picks sim. ``"cuda:1"`` is the GPU of that number, ``"cuda:0,1"``
        are two that work as one.
    workers : int, optional
        Host threads of the cpu device; default: one a core.
    seed : int
        Schedule of the sim device.

    Raises
    ------
    DeviceUnavailable
        If the kind is not known or cannot run here, with the reason and the next step. It never falls back.
    """
    known = kinds()
    kind, which = named(kind)
    if kind != "auto":
        of_kind: dict[str, Any] = {"seed": seed} if kind == "sim" else {"which": which} if which else {}
        return importlib.import_module(f"hvm4viz.device.{kind}").open(workers=workers, **of_kind)
    reasons: list[str] = []
    for name in known:
        if name == "sim":
            continue
        try:
            return importlib.import_module(f"hvm4viz.device.{name}").open(workers=workers)
        except DeviceUnavailable as error:
            reasons.append(f"{name}: {error}")
    raise DeviceUnavailable("no device can run the kernel here\n" + "\n".join(reasons))


def devices() -> list[DeviceInfo]:
    """Return every kind of device with whether it can run here."""
    out: list[DeviceInfo] = []
    for name in kinds():
        try:
            device: Device = importlib.import_module(f"hvm4viz.device.{name}").open(workers=None)
        except DeviceUnavailable as error:
            out.append(DeviceInfo(name, usable=False, detail=str(error).removeprefix(f"{name}: ")))
        else:
            out.append(DeviceInfo(name, usable=True, detail=device.name))
    return out
