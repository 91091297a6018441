"""Run a program or a heap under every schedule, pass by pass.

All schedules of a pass are run from each state in which it can begin. Under a protocol with a deterministic trace they
must end in one and the same state of everything that a pass changes; under the others the set of states is carried on,
and the result must be one and the same. As a command: explore one model (or a program file), or show a schedule again::

    python tests/schedules/explore.py shared_ctr --dup claim
    python tests/schedules/explore.py my.hvm4 --blocks 2 --replay "3=34,35:0.0,1.2"
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import hvm4viz as hv
from hvm4viz.device.sim import Choices, Dispatch, Replayed, SimDevice
from hvm4viz.errors import KernelFault
from hvm4viz.kernel_text.source import Kernel

STATES_MAX = 1 << 18
EXECUTIONS_MAX = 1 << 20
RUNS_MAX = 20_000

Outcome = tuple[str, tuple[str, ...]]
Path_ = Mapping[int, Choices]


@dataclass(slots=True)
class Exploration:
    """What exploring a run found.

    Attributes
    ----------
    schedules : int
        Schedules of all passes, from all states.
    executions : int
        Passes that were run for that.
    states : int
        Different states on the way.
    longest : int
        Accesses to shared words of the longest pass.
    busiest : int
        Most busy threads.
    passes : int
        Passes with several busy threads that were explored, from each state.
    ends : int
        Different states that they ended in.
    outcomes : dict
        Each (status, lines) of the run, with choices by stamp of the pass that lead to it.
    offence : str
        What was wrong, and how to see it again; empty if nothing was.
    is_complete : bool
        Whether everything was run.
    """

    schedules: int = 0
    executions: int = 0
    states: int = 0
    longest: int = 0
    busiest: int = 0
    passes: int = 0
    ends: int = 0
    outcomes: dict[Outcome, Path_] = field(default_factory=dict[Outcome, Path_])
    offence: str = ""
    is_complete: bool = True


class _Known(Exception):
    """This state has been gone on from."""


class _Explorer:
    """A schedule that goes one way, and notes the others."""

    def __init__(
        self, found: Exploration, seen: set[tuple[int, int]], way: Path_, *, is_deterministic: bool, is_reduced: bool
    ) -> None:
        self._found = found
        self._seen = seen
        self._is_deterministic = is_deterministic
        self._is_reduced = is_reduced
        self.way = dict(way)
        self.others: list[Path_] = []

    def run(self, dispatch: Dispatch) -> None:
        found, now = self._found, dispatch.now
        if now in self.way:
            dispatch.replay(self.way[now])
            return
        explored = dispatch.explore(states_max=STATES_MAX, executions_max=EXECUTIONS_MAX, is_reduced=self._is_reduced)
        found.schedules += explored.schedules
        found.executions += explored.executions
        found.states += explored.states
        found.longest = max(found.longest, explored.longest)
        found.busiest = max(found.busiest, len(explored.threads))
        found.passes += 1
        found.ends += len(explored.ends)
        found.is_complete = found.is_complete and explored.is_complete
        if explored.fault:
            raise KernelFault(f"{explored.fault}; replay {shown({**self.way, now: explored.shown_by})}")
        if self._is_deterministic and len(explored.ends) > 1:
            one, other = explored.ends[0].choices, explored.ends[1].choices
            raise KernelFault(
                f"two schedules of pass {now - 1} end in different states: {dispatch.difference(one, other)}; replay "
                f"{shown({**self.way, now: one})} and {shown({**self.way, now: other})}"
            )
        fresh = [end.choices for end in explored.ends if (now, end.image) not in self._seen]
        self._seen.update((now, end.image) for end in explored.ends)
        if not fresh:
            raise _Known
        self.others += [{**self.way, now: choices} for choices in fresh[1:]]
        self.way[now] = fresh[0]
        dispatch.replay(fresh[0])


def explore(
    subject: str | hv.Heap,
    machine: hv.Machine,
    *,
    kernel: Kernel | None = None,
    expected: str | None = None,
    is_reduced: bool = True,
    **options: Any,
) -> Exploration:
    """Run a program or a heap under every schedule.

    Parameters
    ----------
    subject : str or Heap
        Source text, or an image to normalise.
    machine : Machine
    kernel : Kernel, optional
        An edited or watched kernel.
    expected : str, optional
        The result; if it is left out, all outcomes must be equal.
    **options
        Of ``run``.
    """
    found, seen = Exploration(), set[tuple[int, int]]()
    todo: list[Path_] = [{}]
    for _ in range(RUNS_MAX):
        if not todo:
            break
        explorer = _Explorer(found, seen, todo.pop(), is_deterministic=is_deterministic(machine), is_reduced=is_reduced)
        try:
            run = run_under(explorer, subject, machine, kernel=kernel, **options)
        except _Known:
            continue
        finally:
            todo += explorer.others
        found.outcomes.setdefault((str(run.status), tuple(run.lines)), explorer.way)
        if run.status != "done":
            found.offence = f"{run.status}: {run.message}"
            if run.status != "failed":
                found.offence += f"; replay {shown(explorer.way)}"
            return found
        if expected is not None and run.text != expected:
            found.offence = f"gives {run.text!r}, not {expected!r}; replay {shown(explorer.way)}"
            return found
        if len(found.outcomes) > 1:
            ways = [f"{lines} by {shown(way)}" for (_, lines), way in found.outcomes.items()]
            found.offence = f"gives {' but '.join(ways)}"
            return found
    found.is_complete = found.is_complete and not todo
    return found


def run_under(schedule: Any, subject: str | hv.Heap, machine: hv.Machine, **options: Any) -> hv.Run:
    """Run a program or a heap under a schedule."""
    device = SimDevice(schedule)
    options = {"record": "events", "progress": False, "max_passes": 2000} | options
    if isinstance(subject, str):
        return hv.run(subject, machine=machine, device=device, **options)
    del options["progress"]
    return hv.run_heap(subject, machine=machine, device=device, **options)


def is_deterministic(machine: hv.Machine) -> bool:
    """Whether the trace is the same under every schedule."""
    is_exact = machine.dup == "claim" or (machine.dup == "owner" and machine.owner_unit == "thread")
    return is_exact and machine.visibility == "pass"


def shown(way: Path_) -> str:
    """Write a path so that it can be given back to the command."""
    return repr(";".join(f"{now}={choices}" for now, choices in sorted(way.items())))


def read_way(text: str) -> dict[int, Choices]:
    """Read what ``shown`` wrote."""
    parts = (part.partition("=") for part in text.strip("'").split(";") if part)
    return {int(now): Choices.parse(choices) for now, _, choices in parts}


def replay(subject: str | hv.Heap, machine: hv.Machine, way: Path_, **options: Any) -> hv.Run:
    """Run a program or a heap under schedules that were found before."""
    return run_under(Replayed(way), subject, machine, **options)
