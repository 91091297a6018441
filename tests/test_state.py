"""States: what does not fit is refused, whatever was done to it."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import hvm4viz as hv
from hvm4viz.errors import TraceError
from hvm4viz.execution import Execution, Request
from hvm4viz.resume import _request
from hvm4viz.state import Misfit, State, put_back
from hvm4viz.trace import Trace

SNF = "@tree = λ{0: 1; λ&n. #T{@tree(n - 1), @tree(n - 1)}}\n@main = @tree(6)"
BRANCHES = "@nats = λ&n. &(n){n, @nats(n + 1)}\n@main = [@nats(0), 7]"
PRIMITIVES = '@main = [%log("ab"), %gnf([1 + 1, 2 + 2]), %log("c")]'
SHARED = "@main = ! &x = [1 + 1, 2 + 2]; #P{x, x, x}"


@pytest.fixture(scope="module", params=["snf", "collapse", "primitives", "shared"])
def trace(request: pytest.FixtureRequest) -> Trace:
    options: dict[str, Any] = {"record": "full", "progress": False, "on_log": lambda _: None}
    if request.param == "collapse":
        return hv.run(BRANCHES, mode="collapse", max_passes=12, **options).trace
    if request.param == "primitives":
        return hv.run(PRIMITIVES, max_passes=9, **options).trace
    return hv.run(SNF if request.param == "snf" else SHARED, max_passes=3, **options).trace


@pytest.fixture(scope="module")
def request_(trace: Trace) -> Request:
    return replace(_request(trace, None, "cpu", 1), words=trace.at(-1).words)


def fits(request: Request, packed: bytes) -> bool:
    """Put a state into a fresh machine; tell whether it was taken."""
    execution = Execution(request)
    try:
        put_back(State.from_bytes(packed), execution._machine, execution.enumeration, execution._book)
    except Misfit:
        return False
    return True


def test_a_state_fits_where_it_came_from(trace: Trace, request_: Request) -> None:
    assert fits(request_, trace.final_state)
    execution = Execution(request_)
    state = State.from_bytes(trace.final_state)
    execution.results = put_back(state, execution._machine, execution.enumeration, execution._book)
    assert execution.state() == trace.final_state


def test_flipped_bits_are_refused_or_harmless(trace: Trace, request_: Request) -> None:
    rng = random.Random(1)
    refused = 0
    for _ in range(300):
        changed = bytearray(trace.final_state)
        bit = rng.randrange(8 * min(len(changed), 4000))
        changed[bit // 8] ^= 1 << bit % 8
        refused += not fits(request_, bytes(changed))
    assert refused > 50


def test_cut_and_foreign_bytes_are_refused(trace: Trace, request_: Request) -> None:
    packed = trace.final_state
    for size in {0, 1, 7, 8, 100, len(packed) // 2, len(packed) - 1}:
        assert not fits(request_, packed[:size])
    for other in (b"\xff" * 64, packed + b"\0", b"\0" * 64, (2**63).to_bytes(8, "little") + packed[8:]):
        assert not fits(request_, other)


def test_wrong_values_are_refused(trace: Trace, request_: Request) -> None:
    state = State.from_bytes(trace.final_state)

    def walk(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        if isinstance(value, dict):
            return [p for key, each in value.items() for p in walk(each, (*path, key))]
        if isinstance(value, list):
            return [p for index, each in enumerate(value[:3]) for p in walk(each, (*path, index))]
        return [path]

    for path in walk(state.facts):
        for wrong in ("x", -1, 2**40, None, [], {}):
            facts = json.loads(json.dumps(state.facts))
            place = facts
            for key in path[:-1]:
                place = place[key]
            place[path[-1]] = wrong
            fits(request_, State(facts, state.arrays).to_bytes())  # raises nothing else than what it catches
    for name, array in state.arrays.items():
        for wrong in (array[:0], np.concatenate([array, array])):
            fits(request_, State(state.facts, {**state.arrays, name: wrong}).to_bytes())
        if array.dtype.names is None and array.size and name not in ("visited", "used"):
            high = array.copy()
            high[-1] = np.iinfo(array.dtype).max
            if name != "chain":
                assert not fits(request_, State(state.facts, {**state.arrays, name: high}).to_bytes()), name
        less = {key: value for key, value in state.arrays.items() if key != name}
        assert not fits(request_, State(state.facts, less).to_bytes())


def broken(trace: Trace) -> Trace:
    """Return a trace with a state at its end that is none."""
    return type(trace)(
        trace.header, trace.end, trace.chunks, level="full", devices=trace.devices, final_state=b"\1" * 50
    )


def test_a_state_that_is_none_is_reached_again_from_the_start(trace: Trace) -> None:
    options: dict[str, Any] = {"max_passes": trace.n_passes + 5, "progress": False, "on_log": lambda _: None}
    wanted = trace.resume(trace.n_passes, **options)

    again = broken(trace).resume(trace.n_passes, **options)

    assert (again.status, again.text, again.trace.digest()) == (wanted.status, wanted.text, wanted.trace.digest())


def test_a_state_that_is_none_is_refused_where_passes_cannot_be_repeated() -> None:
    trace = hv.run(SHARED, machine=hv.Machine(dup="atomic"), record="full", max_passes=3, progress=False).trace

    with pytest.raises(TraceError, match="cannot go on from the recorded state"):
        broken(trace).resume(trace.n_passes)
