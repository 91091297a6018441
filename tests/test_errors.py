"""The exception tree: one root, one builtin each, everything picklable."""

from __future__ import annotations

import inspect
import pickle

import pytest

from hvm4viz import errors
from hvm4viz.errors import (
    DeviceError,
    DeviceFailed,
    Hvm4vizError,
    MachineError,
    ProgramError,
    Source,
    Span,
    TraceError,
)

TREE = {
    ProgramError: (
        ValueError,
        {"HvmSyntaxError", "UnboundName", "NotAffine", "EntryNotFound", "IncludeError", "UnsupportedTerm"},
    ),
    MachineError: (
        RuntimeError,
        {
            "HvmRuntimeError",
            "PrimitiveInGnf",
            "HeapExhausted",
            "PassLimitReached",
            "TimeLimitReached",
            "Stalled",
            "Interrupted",
            "KernelFault",
        },
    ),
    DeviceError: (RuntimeError, {"DeviceUnavailable", "DeviceFailed", "CompileFailed"}),
    TraceError: (ValueError, {"NotATrace", "UnsupportedVersion", "DamagedTrace", "TraceTooLarge", "TraceExists"}),
}
CLASSES = [cls for _, cls in inspect.getmembers(errors, inspect.isclass) if issubclass(cls, Exception)]


@pytest.mark.parametrize("branch", TREE, ids=lambda branch: branch.__name__)
def test_branch_has_its_builtin_and_its_leaves(branch: type[Hvm4vizError]) -> None:
    builtin, leaves = TREE[branch]

    assert issubclass(branch, builtin)
    assert {cls.__name__ for cls in CLASSES if issubclass(cls, branch) and cls is not branch} == leaves


def test_everything_hangs_on_one_root() -> None:
    assert all(issubclass(cls, Hvm4vizError) for cls in CLASSES)
    assert issubclass(errors.UnboundName, errors.HvmSyntaxError)
    assert issubclass(errors.NotAffine, errors.HvmSyntaxError)


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_error_survives_pickling(cls: type[Hvm4vizError]) -> None:
    error = cls("what happened")

    again = pickle.loads(pickle.dumps(error))

    assert type(again) is cls
    assert str(again) == "what happened"


def test_program_error_carries_its_place() -> None:
    error = ProgramError("m", span=Span(Source("f", "a\nbc"), 3, 4), hint="h")

    again = pickle.loads(pickle.dumps(error))

    assert (again.line, again.col, again.hint, again.span.text) == (2, 2, "h", "c")
    assert ProgramError("m").line is None
    assert ProgramError("m").col is None


def test_machine_and_device_errors_carry_the_run() -> None:
    run, trace = object(), object()

    error = MachineError("m", run=run, trace=trace)
    failed = DeviceFailed("m", text="log", run=run, trace=trace)

    assert (error.run, error.trace) == (run, trace)
    assert (failed.run, failed.trace, failed.text) == (run, trace, "log")
