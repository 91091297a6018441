"""Why runs end, in words, and where their tasks stood."""

from __future__ import annotations

import numpy as np
import pytest

from hvm4viz.heap import Task
from hvm4viz.kernel_text import abi
from hvm4viz.stops import Fault, fault_of, stalled, task_of
from hvm4viz.term import SUB_BIT, pack

HAND = 0x1234_5678_9ABC_DEF0 & ~SUB_BIT
TOP = pack(abi.F_DP1, 0, 5)


def record(**fields: int) -> np.void:
    made = np.zeros(1, abi.RECORD)
    for name, value in fields.items():
        made[name] = value
    return made[0]


@pytest.mark.parametrize(
    ("tasks", "says"),
    [(1, "1 task waits for itself"), (2, "2 tasks wait for each other"), (1_200, "1,200 tasks wait for each other")],
)
def test_waiting_tasks_are_counted(tasks: int, says: str) -> None:
    assert stalled(tasks).startswith(f"{says}: the term is cyclic, it needs its own value; look for ")


@pytest.mark.parametrize("kind", [0, 1, 2, 3])
@pytest.mark.parametrize("mark", [0, SUB_BIT])
def test_a_fault_says_what_and_where(kind: int, mark: int) -> None:
    flags = kind << abi.RECORD_ERROR_SHIFT | abi.RECORD_REENTER
    assert fault_of(record(flags=flags, place=7, root=9, top=TOP, hand=HAND | mark)) == Fault(
        kind, place=7, root=9, hand=HAND, frame=abi.F_DP1, is_value=bool(mark)
    )


@pytest.mark.parametrize("mark", [0, SUB_BIT])
def test_a_task_that_has_begun_has_a_frame_and_a_term_in_hand(mark: int) -> None:
    begun = record(root=9, top=11, hand=HAND | mark, flags=abi.RECORD_REENTER)
    assert task_of(begun) == Task(root=9, top=11, hand=HAND, is_value=bool(mark))
    for flag in (abi.RECORD_NEW, abi.RECORD_SLOT):
        fresh = record(root=9, top=11, hand=HAND | mark, flags=flag)
        assert task_of(fresh) == Task(root=9, top=0, hand=0, is_value=False)
