"""What is found out about a pass: schedules, and the states that they end in."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Choices:
    """One schedule of a pass: who made each access to a shared word, and which value a read saw.

    Its text, as in ``"34,35:0.0,1.2"``, names the shared words (half cells, heap first), then the steps.

    Attributes
    ----------
    words : tuple of int
        Half cells at which threads take turns; those behind the heap are the marks of visited cells.
    steps : tuple of (int, int)
        (busy thread, value: 0 the newest), one an access; what is not said is the first that is possible.
    """

    words: tuple[int, ...] = ()
    steps: tuple[tuple[int, int], ...] = ()

    def __str__(self) -> str:
        words = ",".join(map(str, self.words))
        return f"{words}:{','.join(f'{thread}.{value}' for thread, value in self.steps)}"

    @classmethod
    def parse(cls, text: str) -> Choices:
        """Read the text form back.

        Raises
        ------
        ValueError
            If it is none.
        """
        try:
            words, _, steps = text.partition(":")
            pairs = [step.split(".") for step in steps.split(",") if step]
            return cls(tuple(int(word) for word in words.split(",") if word), tuple((int(a), int(b)) for a, b in pairs))
        except ValueError:
            raise ValueError(f"{text!r} is no list of choices; one looks like '34,35:0.0,1.2'") from None


@dataclass(frozen=True, slots=True)
class End:
    """A state that a pass may leave, and one schedule that leads there."""

    image: int
    choices: Choices


@dataclass(frozen=True, slots=True)
class Explored:
    """All schedules of one pass.

    Attributes
    ----------
    now : int
        Stamp of the pass: its number, plus one.
    threads : tuple of int
        Busy threads.
    words : tuple of int
        Half cells that several of them touch and one writes.
    schedules : int
        How many there are: orders of the accesses to these words, times what each read may see. 2**64 - 1: at least.
    states : int
        Different states on the way.
    executions : int
        Times that the pass was run.
    longest : int
        Accesses to shared words of the longest schedule.
    ends : tuple of End
        Different states at the end.
    fault : str
        What a schedule did that the protocol forbids, if one did.
    shown_by : Choices
        That schedule.
    is_complete : bool
        Whether all were run.
    """

    now: int
    threads: tuple[int, ...]
    words: tuple[int, ...]
    schedules: int
    states: int
    executions: int
    longest: int
    ends: tuple[End, ...]
    fault: str
    shown_by: Choices
    is_complete: bool
