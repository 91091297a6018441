"""The exception tree: one ``except Hvm4vizError`` catches everything that this package raises on purpose.

A message says what failed, where, the value seen against the bound, and what to do.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from functools import cached_property


@dataclass(frozen=True)
class Source:
    """One source text: what error messages and spans point into.

    Attributes
    ----------
    name : str
        How messages call it; a name in angle brackets is shown without them.
    text : str
        The decoded text; offsets count its characters.
    """

    name: str
    text: str = field(repr=False)

    @property
    def called(self) -> str:
        """Name as it is shown."""
        return self.name[1:-1] if self.name.startswith("<") and self.name.endswith(">") else self.name

    @cached_property
    def line_starts(self) -> list[int]:
        """Offsets at which lines start, in order."""
        starts = [0]
        at = self.text.find("\n")
        while at >= 0:
            starts.append(at + 1)
            at = self.text.find("\n", at + 1)
        return starts


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of source text: characters ``start`` up to ``end`` of ``source``.

    ``line`` and ``col`` count from 1, in lines and characters.
    """

    source: Source
    start: int
    end: int

    @property
    def file(self) -> str:
        """Name of the source."""
        return self.source.name

    @property
    def line(self) -> int:
        """Line of the first character."""
        return bisect_right(self.source.line_starts, self.start)

    @property
    def col(self) -> int:
        """Column of the first character."""
        return self.start - self.source.line_starts[self.line - 1] + 1

    @property
    def text(self) -> str:
        """The stretch itself."""
        return self.source.text[self.start : self.end]

    def __str__(self) -> str:
        """Place as ``file:line:col``."""
        return f"{self.source.called}:{self.line}:{self.col}"


class Hvm4vizError(Exception):
    """Root of the tree."""


# Programs: what the text says.


class ProgramError(Hvm4vizError, ValueError):
    """The program cannot be used as written.

    Attributes
    ----------
    span : Span or None
        Where in the source.
    hint : str
        What to do about it, or empty.
    """

    def __init__(self, message: str, *, span: Span | None = None, hint: str = "") -> None:
        super().__init__(message)
        self.span = span
        self.hint = hint

    @property
    def line(self) -> int | None:
        """Line of the fault, from 1."""
        return self.span.line if self.span else None

    @property
    def col(self) -> int | None:
        """Column of the fault in characters, from 1."""
        return self.span.col if self.span else None


class HvmSyntaxError(ProgramError):
    """The text does not follow the grammar."""


class UnboundName(HvmSyntaxError):
    """A variable that no binder in scope declares, or declares as another kind."""


class NotAffine(HvmSyntaxError):
    """A variable used more than once without being declared as cloned."""


class EntryNotFound(ProgramError):
    """The definition to run does not exist."""


class IncludeError(ProgramError):
    """An included file cannot be read, or lies outside the root folder."""


class UnsupportedTerm(ProgramError):
    """A term that this machine or mode cannot run."""


# Runs: what the machine met.


class MachineError(Hvm4vizError, RuntimeError):
    """A run that did not end well.

    Attributes
    ----------
    run, trace : object or None
        The run as far as it came, and its recording.
    """

    def __init__(self, message: str, *, run: object | None = None, trace: object | None = None) -> None:
        super().__init__(message)
        self.run = run
        self.trace = trace


class HvmRuntimeError(MachineError):
    """The program did what no rule allows, such as applying a number."""


class PrimitiveInGnf(MachineError):
    """A primitive was met inside ``%gnf``, where none can run."""


class HeapExhausted(MachineError):
    """No free region was left below the heap's cap."""


class PassLimitReached(MachineError):
    """The run was not finished after ``max_passes`` passes."""


class TimeLimitReached(MachineError):
    """The run was not finished when its time was up."""


class Stalled(MachineError):
    """Entries are left, but none of them can make progress."""


class Interrupted(MachineError):
    """The run was stopped from outside between two passes."""


class KernelFault(MachineError):
    """The kernel broke one of its own invariants: a bug, please report it."""


# Devices: what hardware or compiler said.


class DeviceError(Hvm4vizError, RuntimeError):
    """A device could not be used.

    Attributes
    ----------
    text : str
        What the device or the compiler said, whole.
    run, trace : object or None
        The run as far as it came, and its recording, when one had begun.
    """

    def __init__(self, message: str, *, text: str = "", run: object | None = None, trace: object | None = None) -> None:
        super().__init__(message)
        self.text = text
        self.run = run
        self.trace = trace


class DeviceUnavailable(DeviceError):
    """The device cannot run here; the message names the reason and the next step."""


class DeviceFailed(DeviceError):
    """The device stopped in the middle of a run."""


class CompileFailed(DeviceError):
    """The kernel text did not compile; ``text`` is the compiler's output."""


# Recordings: what a file holds.


class TraceError(Hvm4vizError, ValueError):
    """A recording cannot be read or written."""


class NotATrace(TraceError):
    """The file is no recording of this package."""


class UnsupportedVersion(TraceError):
    """The recording was written in a format that this version does not read."""


class DamagedTrace(TraceError):
    """The recording's bytes do not match its checksums."""


class TraceTooLarge(TraceError):
    """The recording is larger than the caller allows."""


class TraceExists(TraceError):
    """A file of that name is already there; recordings never overwrite."""
