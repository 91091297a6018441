"""One run of a sweep as plain values, which any process on any host can carry out, and its identity."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from hvm4viz import __version__
from hvm4viz.kernel_text.source import Kernel, kernel
from hvm4viz.settings import Machine

if TYPE_CHECKING:
    from hvm4viz.execution import Mode, Record

FORMAT: Final = 1
"""Changes whenever what is kept of a run would mean something else; part of the identity."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """One run that is asked for; see ``run`` for the meaning of what has the same name there.

    Attributes
    ----------
    files : tuple of (str, str)
        Name and text of every file of the program (``Program.files``).
    units : tuple of int
        Which of them were given to be parsed (``Program.unit_places``).
    device : str
        A kind of ``devices()``, never "auto".
    kernel : Kernel or None
        An edited kernel; None is the one that ships.
    primitives : tuple of (str, str)
        Modules that register primitives, each with the digest of its text.
    repeat : int
        Which repetition it is, from 0.
    """

    files: tuple[tuple[str, str], ...]
    units: tuple[int, ...]
    entry: str
    mode: Mode
    limit: int | None
    machine: Machine
    device: str
    workers: int
    seed: int
    max_passes: int
    timeout: float | None
    record: Record
    kernel: Kernel | None
    primitives: tuple[tuple[str, str], ...]
    repeat: int

    @cached_property
    def program_digest(self) -> str:
        """SHA-256 over the texts of the program, whatever its files are called."""
        return _digest([[text for _, text in self.files], list(self.units)])

    @cached_property
    def kernel_digest(self) -> str:
        """SHA-256 of the kernel text."""
        return (self.kernel or kernel()).digest

    @cached_property
    def key(self) -> str:
        """SHA-256 over everything that the run depends on: the name under which it is kept, 64 hex digits."""
        return _digest(
            {
                "format": FORMAT,
                "version": __version__,
                "program": self.program_digest,
                "entry": self.entry,
                "mode": self.mode,
                "limit": self.limit,
                "machine": self.machine.settings(),
                "device": self.device,
                "workers": self.workers,
                "seed": self.seed,
                "max_passes": self.max_passes,
                "timeout": self.timeout,
                "record": self.record,
                "kernel": self.kernel_digest,
                "primitives": self.primitives,
                "repeat": self.repeat,
            }
        )


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
