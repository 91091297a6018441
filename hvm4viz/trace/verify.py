"""Re-check the protocol from a trace alone, and name the first offence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from hvm4viz.trace.checks import RULES
from hvm4viz.trace.checks.view import CannotCheck, Offence, View, order

if TYPE_CHECKING:
    from hvm4viz.trace.trace import Trace

LEVELS: Final = ("off", "counts", "events", "full")


@dataclass(frozen=True, slots=True)
class Verification:
    """What the check of a trace found.

    Attributes
    ----------
    offence : Offence or None
        The first place where the trace breaks a rule: pass, cell, thread, the rule in words, what is there instead.
    checked : tuple of str
        Rules that were checked, in words.
    unchecked : tuple of (str, str)
        Rules that this recording cannot tell of, with the reason.
    n_passes, n_events : int
        How much was looked at.
    damage : str
        What of the file could not be read, and was not looked at; empty if nothing is missing.
    """

    offence: Offence | None
    checked: tuple[str, ...]
    unchecked: tuple[tuple[str, str], ...]
    n_passes: int
    n_events: int
    damage: str = ""

    @property
    def ok(self) -> bool:
        """Whether no rule that could be checked is broken, and all of the trace could be read."""
        return self.offence is None and not self.damage

    def __str__(self) -> str:
        """Tell the first offence, then what was checked and what not."""
        what = f"{self.n_passes:,} passes, {self.n_events:,} events, {len(self.checked)} rules"
        if self.damage and not self.n_passes:
            return "no pass could be read, so nothing was verified"
        kept = "the trace keeps the protocol"
        if self.damage:
            passes, them = (
                ("pass 0 keeps", "it") if self.n_passes == 1 else (f"passes 0 to {self.n_passes - 1:,} keep", "them")
            )
            kept = f"{passes} the protocol; the file is damaged after {them}, and nothing else was verified"
        lines = [f"{kept}: {what}" if self.offence is None else f"{self.offence}"]
        lines += [f"  checked: {rule}" for rule in self.checked]
        lines += [f"  not checked: {rule} ({why})" for rule, why in self.unchecked]
        return "\n".join(lines)


def verify_trace(trace: Trace) -> Verification:
    """Check every rule that the recording can tell of; see ``Trace.verify``."""
    view = View(trace)
    offences: list[Offence] = []
    checked: list[str] = []
    unchecked: list[tuple[str, str]] = []
    for rule in RULES:
        if LEVELS.index(rule.needs) > LEVELS.index(trace.level):
            unchecked.append((rule.name, f"needs a recording at {rule.needs!r}, this one is at {trace.level!r}"))
            continue
        try:
            found = rule.check(view)
        except CannotCheck as reason:
            unchecked.append((rule.name, str(reason)))
            continue
        checked.append(rule.name)
        if found is not None:
            event = None if found.event < 0 else found.event
            offences.append(
                Offence(found.pass_index, rule.name, found.message, loc=found.loc, thread=found.thread, event=event)
            )
    return Verification(
        min(offences, key=order, default=None),
        tuple(checked),
        tuple(unchecked),
        trace.n_passes,
        trace.n_events,
        trace.note if trace.state == "damaged" else "",
    )
