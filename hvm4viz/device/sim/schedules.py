"""Which schedule a pass is run under."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, Protocol

from hvm4viz.device.sim.dispatch import Dispatch
from hvm4viz.device.sim.found import Choices, Explored
from hvm4viz.errors import KernelFault

STATES_MAX: Final = 1 << 20
EXECUTIONS_MAX: Final = 1 << 24


class Schedule(Protocol):
    """Decides how a pass with several busy threads is run."""

    def run(self, dispatch: Dispatch) -> None:
        """Run it once; the buffers are to hold what it leaves."""
        ...


class Seeded:
    """A random schedule: the same seed and pass give the same one.

    Parameters
    ----------
    seed : int
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def run(self, dispatch: Dispatch) -> None:
        """Run the pass under the seed's schedule."""
        dispatch.random(self.seed)


class Replayed:
    """Schedules that were found before.

    Parameters
    ----------
    choices : mapping of int to Choices
        By stamp of the pass (its number, plus one); other passes run thread by thread.
    """

    def __init__(self, choices: Mapping[int, Choices]) -> None:
        self.choices = choices

    def run(self, dispatch: Dispatch) -> None:
        """Run the pass under its schedule."""
        dispatch.replay(self.choices.get(dispatch.now, Choices()))


class Exhaustive:
    """Every schedule of every pass; the run then goes on from one of the states that they end in.

    Parameters
    ----------
    choose : callable, optional
        Given all schedules of a pass, names the schedule to go on with; the first end if it is left out.
    states_max : int
        Most states of a pass, a power of two.
    executions_max : int
        Most times that a pass is run.
    is_reduced : bool
        Whether to leave out orders that cannot matter (``explore.h``); then schedules are not counted in full.

    Attributes
    ----------
    passes : list of Explored
        Passes with more than one busy thread, so far.
    """

    def __init__(
        self,
        choose: Callable[[Explored], Choices] | None = None,
        *,
        states_max: int = STATES_MAX,
        executions_max: int = EXECUTIONS_MAX,
        is_reduced: bool = False,
    ) -> None:
        self._choose = choose
        self._states_max = states_max
        self._executions_max = executions_max
        self._is_reduced = is_reduced
        self.passes: list[Explored] = []

    def run(self, dispatch: Dispatch) -> None:
        """Run all schedules of the pass, then the one to go on with.

        Raises
        ------
        KernelFault
            If a schedule does what the protocol forbids.
        """
        explored = dispatch.explore(
            states_max=self._states_max, executions_max=self._executions_max, is_reduced=self._is_reduced
        )
        self.passes.append(explored)
        if explored.fault:
            raise KernelFault(f"{explored.fault}; these choices in that pass show it again: {explored.shown_by}")
        first = explored.ends[0].choices if explored.ends else Choices(explored.words)
        dispatch.replay(first if self._choose is None else self._choose(explored))
