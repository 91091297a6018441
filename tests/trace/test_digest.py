"""The digest, against its page written out in the plainest way."""

from __future__ import annotations

import dataclasses
import hashlib
from pathlib import Path
from typing import Any

import pytest

from hvm4viz.errors import DamagedTrace, TraceError
from hvm4viz.events import OUTCOMES, REASONS
from hvm4viz.settings import Machine
from hvm4viz.trace import Trace, digest, open_trace, recorder
from tests.trace.records import header, record, wide_passes, worked_example

WIDTHS = [1, 4, 30, 200, 0, 500, 40, 2]


def by_the_page(trace: Trace, *, with_events: bool = True) -> str:
    out = b"hvm4viz trace digest\n"

    def number(value: int) -> None:
        nonlocal out
        out += value.to_bytes(8, "little", signed=True)

    def texts(*all_texts: str) -> None:
        nonlocal out
        number(len(all_texts))
        for text in all_texts:
            number(len(text.encode()))
            out += text.encode()

    header, end = trace.header, trace.end
    assert end is not None
    number(1)
    texts(*(text for _, text in header.source))
    texts(header.entry, header.mode)
    number(-1 if header.limit is None else header.limit)
    settings = sorted(item for item in header.machine.items() if item[0] not in ("heap", "memory"))
    texts(*(str(part) for setting in settings for part in setting))
    if with_events:
        number(trace.n_passes)
        number(trace.n_events)
        for p in range(trace.n_passes):
            for row in trace.events(p, p + 1):
                for value in (p, *(row[name] for name in ("thread", "loc", "slot", "interactions", "cells", "side"))):
                    out += int(value).to_bytes(4, "little")
                out += OUTCOMES[row["outcome"]].encode().ljust(12, b"\0")
                out += REASONS[row["reason"]].encode().ljust(12, b"\0")
    else:
        number(-1)
    texts(end.status, *end.lines)
    return hashlib.sha256(out).hexdigest()


def run(**changes: Any) -> Trace:
    head = dataclasses.replace(header(source="@main = λx. x\n"), **changes.pop("head", {}))
    return record(changes.pop("passes", None) or wide_passes(WIDTHS), head=head, **changes)


def test_the_digest_is_what_the_page_says() -> None:
    trace = run(lines=("λ", "#Pair{1,2}"))
    assert trace.digest() == by_the_page(trace)


def test_it_never_changes() -> None:
    assert worked_example().digest() == "67f12e0632f494d7174508d1fd50cd848ccc2eee6631d0b217b55c5a27f2e065"


def test_names_fit_their_fields() -> None:
    assert max(map(len, OUTCOMES + REASONS)) <= digest.NAME_BYTES


@pytest.mark.parametrize("chunk", [500, 1 << 20])
@pytest.mark.parametrize("step", [7, 1 << 14])
def test_it_does_not_depend_on_how_the_trace_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int, step: int
) -> None:
    monkeypatch.setattr(recorder, "CHUNK_BYTES", chunk)
    monkeypatch.setattr(digest, "STEP_EVENTS", step)
    path = tmp_path / "run.hvt"
    assert run(path=path).digest() == open_trace(path).digest() == by_the_page(run())


def test_it_does_not_depend_on_device_clock_or_place() -> None:
    def elsewhere() -> Any:
        for told in wide_passes(WIDTHS):
            yield dataclasses.replace(told, device="cuda", device_ns=1, host_ns=2)

    changes = {
        "device": "cuda",
        "kernel": "1" * 64,
        "machine": Machine(blocks=4, threads_per_block=2, region_size=64, heap="2 GiB", memory="shared").settings(),
        "source": (("elsewhere.hvm4", "@main = λx. x\n"),),
    }
    assert run(head=changes, passes=elsewhere()).digest() == run().digest()


@pytest.mark.parametrize(
    "changes",
    [
        {"source": (("main.hvm4", "@main = λy. y\n"),)},
        {"source": (("main.hvm4", "@main = λx. x\n"), ("b", ""))},
        {"entry": "other"},
        {"mode": "collapse"},
        {"limit": 0},
        {"machine": Machine(blocks=4, threads_per_block=2, region_size=128).settings()},
    ],
    ids=str,
)
def test_it_depends_on_the_run(changes: dict[str, Any]) -> None:
    assert run(head=changes).digest() != run().digest()


def test_no_limit_is_no_limit() -> None:
    assert run(head={"limit": -5}).digest() == run(head={"limit": None}).digest()


def test_limits_are_told_apart_up_to_the_largest_that_eight_bytes_hold() -> None:
    most = (1 << 63) - 1
    digests = [run(head={"limit": limit}).digest() for limit in (0, 1, most - 1, most, most + 1, 1 << 70)]
    assert len(set(digests)) == 4
    assert digests[3:] == digests[3:4] * 3


def test_it_depends_on_status_lines_and_every_field_of_an_event() -> None:
    digests = {
        run().digest(),
        run(status="pass_limit").digest(),
        run(lines=()).digest(),
        run(lines=("a", "b")).digest(),
    }
    for name in ("thread", "loc", "slot", "interactions", "cells", "outcome", "reason", "side"):
        passes = list(wide_passes(WIDTHS))
        row = passes[3].events[100]
        passes[3].events[name][100] = row[name] ^ 1
        digests.add(run(passes=passes).digest())
    assert len(digests) == 12


@pytest.mark.parametrize(("name", "value"), [("dup", "atomic"), ("owner_unit", "block"), ("visibility", "live")])
def test_runs_without_a_deterministic_trace_have_a_digest_of_the_result(name: str, value: str) -> None:
    head = {"machine": header().machine | {name: value}}
    trace = run(head=head)
    assert trace.digest() == by_the_page(trace, with_events=False)
    assert trace.digest() == run(head=head, passes=wide_passes([3])).digest()


@pytest.mark.parametrize("status", ["timeout", "interrupted"])
def test_runs_that_the_clock_or_a_person_ended_too(status: str) -> None:
    assert run(status=status).digest() == by_the_page(run(status=status), with_events=False)


@pytest.mark.parametrize("level", ["off", "counts"])
def test_there_is_none_without_events(level: Any) -> None:
    with pytest.raises(TraceError, match=f"level '{level}'"):
        run(level=level).digest()
    assert run(level=level).digest_or_none() is None


def test_there_is_none_of_a_cut_trace() -> None:
    with pytest.raises(TraceError, match="from 5 on were not kept"):
        run(limit_bytes=7000).digest()


def test_there_is_none_of_the_last_passes_alone() -> None:
    with pytest.raises(TraceError, match="no digest: 2 passes before the first one are not in this recording"):
        run().slice(2).digest()


def test_there_is_none_before_the_end() -> None:
    kept = recorder.Recorder()
    kept.begin(header())
    with pytest.raises(TraceError, match="before the run did"):
        kept.trace.digest()


def test_result_lines_too_long_for_the_file_are_in_the_recorded_digest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hvm4viz.trace.writer.LINES_CHARS_MAX", 10)
    path = tmp_path / "run.hvt"
    trace = run(path=path, lines=("1234", "567", "890"))
    opened = open_trace(path)
    assert opened.end is not None
    assert opened.end.lines == ("1234", "567")
    assert opened.digest() == trace.digest()


def test_a_recorded_digest_that_is_not_the_digest() -> None:
    trace = run()
    other = Trace(trace.header, trace.end, trace.chunks, level="events", devices=("cpu",), digest="0" * 64)
    with pytest.raises(DamagedTrace, match="not as it was written"):
        other.digest()
