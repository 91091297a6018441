"""Measurements as arrays and as text."""

from __future__ import annotations

import numpy as np

import hvm4viz as hv
from hvm4viz.bench import Measured, as_markdown, as_table, provenance, samples
from hvm4viz.device import open_device


def measured(program: str, protocol: str, passes: int, deferrals: int = 0) -> Measured:
    return Measured(program, protocol, "done", 3, passes, 10, deferrals, 0, 0, 1.0, passes / 1000, passes / 2000)


ALL = [
    measured("calm", "owner", 5),
    measured("calm", "claim", 5),
    measured("busy", "owner", 2434, 7),
    measured("busy", "claim", 69, 9),
    measured("waiting", "owner", 8, 1),
    measured("waiting", "claim", 8, 1),
]


def test_a_table_by_program_and_protocol() -> None:
    values, programs, protocols = as_table([*ALL, measured("new", "claim", 1)], "passes")
    assert programs == ["calm", "busy", "waiting", "new"]
    assert protocols == ["owner", "claim"]
    assert np.array_equal(values, [[5, 5], [2434, 69], [8, 8], [np.nan, 1]], equal_nan=True)


def test_programs_in_which_nobody_waits_share_a_row() -> None:
    assert as_markdown(ALL).splitlines() == [
        "| program | owner | claim |",
        "| --- | --- | --- |",
        "| `busy` | 2,434, 2,434 | 69, 69 |",
        "| `waiting` | 8, 8 | 8, 8 |",
        "| `calm` | the same |  |",
    ]


def test_what_was_measured_is_named() -> None:
    programs = samples(["words"])
    text = provenance(programs, hv.Machine(fuel=100), open_device("cpu", workers=1), ALL)
    for part in (
        "1 program, ",
        "program text ",
        "8 blocks of 4 threads",
        "fuel 100",
        "heap ",
        "medians of 3 runs",
        "hvm4viz ",
    ):
        assert part in text
    changed = provenance(samples(["church"]), hv.Machine(fuel=100), open_device("cpu", workers=1), ALL)
    assert changed != text
