"""Run a program or a heap under every schedule, pass by pass.

All schedules of a pass are run from each state in which it can begin. Under a protocol with a deterministic trace they
must end in one and the same state of everything that a pass changes; under the others the set of states is carried on,
and the result must be one and the same. As a command: explore models (``models.py``) or program files, or show one
schedule again::

    python tests/schedules/explore.py
    python tests/schedules/explore.py pair nested --dup claim --shadow
    python tests/schedules/explore.py my.hvm4 --dup owner --replay "3=34,35:0.0,1.2"
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from unittest.mock import patch

import hvm4viz as hv
from hvm4viz.device.sim import Choices, Dispatch, Replayed, SimDevice
from hvm4viz.errors import KernelFault
from hvm4viz.frontier import Frontier
from hvm4viz.kernel_text.source import Kernel, kernel
from tests.differential.machines import ALONE, protocols
from tests.schedules.models import MODELS, Model

STATES_MAX = 1 << 18
EXECUTIONS_MAX = 1 << 20
RUNS_MAX = 20_000

Outcome = tuple[str, tuple[str, ...], int]
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
        Each (status, lines, interactions) of the run, with choices by stamp of the pass that lead to it.
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
    is_counted: bool = True,
    is_acyclic: bool = True,
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
    is_reduced : bool
        Whether to leave out orders that cannot matter.
    is_counted : bool
        Whether the interactions must be the same in all of them, too.
    is_acyclic : bool
        Whether tasks must never wait for each other: what lets a cyclic term go on would also hide a lost wake.
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
            with patch.object(Frontier, "break_cycle", _stalls) if is_acyclic else nullcontext():
                run = run_under(explorer, subject, machine, kernel=kernel, **options)
        except _Known:
            continue
        finally:
            todo += explorer.others
        count = run.stats.interactions if is_counted else 0
        found.outcomes.setdefault((str(run.status), tuple(run.lines), count), explorer.way)
        if run.status != "done":
            found.offence = f"{run.status}: {run.message}"
            if run.status != "failed":
                found.offence += f"; replay {shown(explorer.way)}"
            return found
        if expected is not None and run.text != expected:
            found.offence = f"gives {run.text!r}, not {expected!r}; replay {shown(explorer.way)}"
            return found
        if len(found.outcomes) > 1:
            ways = [f"{lines} in {n} interactions by {shown(way)}" for (_, lines, n), way in found.outcomes.items()]
            found.offence = f"gives {' but '.join(ways)}"
            return found
    found.is_complete = found.is_complete and not todo
    return found


def _stalls(frontier: Frontier) -> bool:
    del frontier
    return False


def run_under(
    schedule: Any, subject: str | hv.Heap, machine: hv.Machine, *, flags: tuple[str, ...] = (), **options: Any
) -> hv.Run:
    """Run a program or a heap under a schedule; the flags are the compiler's."""
    device = SimDevice(schedule, flags=flags)
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


def kind_of(machine: hv.Machine) -> str:
    """Name the protocol, and when publications are seen."""
    kind = machine.dup if machine.dup != "owner" or machine.owner_unit == "thread" else "block"
    return f"{kind} {machine.visibility}"


def is_light(model: Model, machine: hv.Machine) -> bool:
    """Whether the model has few enough schedules under this protocol."""
    return not any(kind_of(machine).startswith(kind) for kind in model.heavy)


def answer(model: Model) -> str:
    """The result of a model on one thread, or by hand where a heap is laid out for several."""
    start = model.start()
    if isinstance(start, str):
        return hv.run(start, machine=ALONE, device="cpu", progress=False).text
    return hv.run_heap(start, machine=model.machine(), device="cpu").text


def main() -> int:
    """Explore; exit 1 if anything was wrong."""
    parser = argparse.ArgumentParser(description="Run models or programs under every schedule.")
    parser.add_argument("names", nargs="*", help="models, or program files; all models if there is none")
    for name in ("dup", "owner_unit", "visibility", "defer"):
        parser.add_argument(f"--{name.replace('_', '-')}", help="only protocols with this setting")
    parser.add_argument("--full", action="store_true", help="leave out no order, so that schedules are counted in full")
    parser.add_argument("--shadow", action="store_true", help="with the shadow of who touched what")
    parser.add_argument("--replay", help="show one schedule again, as an offence names it")
    options = parser.parse_args()
    known = {model.name: model for model in MODELS}
    models = [
        known.get(name) or Model(Path(name).stem, Path(name).read_text(encoding="utf-8")) for name in options.names
    ]
    wanted = {name: value for name in ("dup", "owner_unit", "visibility", "defer") if (value := getattr(options, name))}
    used = kernel().watched("shadow") if options.shadow else kernel()
    wrong, total, begun = 0, Exploration(), time.perf_counter()
    say(
        f"{'model':24}{'protocol':36}{'threads':>8}{'steps':>6}{'passes':>7}{'ends':>6}{'states':>9}{'runs':>9}{'schedules':>22}"
    )
    for model in models or MODELS:
        for protocol in protocols():
            machine = model.machine(**protocol)
            if any(getattr(machine, name) != value for name, value in wanted.items()) or not is_light(model, machine):
                continue
            if options.shadow and machine.visibility == "live":
                continue
            if options.replay:
                run = replay(model.start(), machine, read_way(options.replay), kernel=used)
                say(f"{model} {' '.join(protocol.values())}: {run.status} {run.text} {run.message}")
                continue
            one = explore(model.start(), machine, kernel=used, is_reduced=not options.full, is_counted=model.is_counted)
            row = (one.busiest, one.longest, one.passes, one.ends, one.states, one.executions, one.schedules)
            say("{:24}{:36}{:8}{:6}{:7}{:6}{:9,}{:9,}{:22,}".format(str(model), " ".join(protocol.values()), *row))
            wrong += bool(one.offence) or not one.is_complete
            say(f"    {one.offence}") if one.offence else None
            say("    not all was run") if not one.is_complete else None
            total.schedules += one.schedules
            total.executions += one.executions
    say(f"{total.executions:,} runs of a pass for {total.schedules:,} schedules, {time.perf_counter() - begun:.0f} s")
    return 1 if wrong else 0


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
