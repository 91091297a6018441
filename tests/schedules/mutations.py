"""Planted bugs: rules of the duplication protocols left out, each as an exact replacement in the kernel's text.

A replaced text must stand in the kernel exactly once, so that an edit of the kernel cannot disarm a bug unnoticed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from hvm4viz.kernel_text.source import Kernel
from hvm4viz.rules import rule_table
from tests.kernel_text.places import places

Change = tuple[str, str]

THREAD: Final = {"dup": "owner", "owner_unit": "thread", "visibility": "pass"}
BLOCK: Final = {"dup": "owner", "owner_unit": "block", "visibility": "pass"}
ATOMIC: Final = {"dup": "atomic", "visibility": "pass"}
CLAIM: Final = {"dup": "claim", "visibility": "pass"}
LIVE: Final = {"visibility": "live"}


@dataclass(frozen=True, slots=True)
class Mutation:
    """A planted bug.

    Attributes
    ----------
    name : str
        The row of the protocol's table of mutations, with the option in front.
    changes : tuple of (str, str)
        Texts of the kernel and what stands in their place.
    protocol : dict
        Settings under which it must be caught.
    shadow : bool
        Whether only the shadow of who touched what tells of it.
    """

    name: str
    changes: tuple[Change, ...]
    protocol: dict[str, str] = field(default_factory=dict[str, str])
    shadow: bool = False

    def __str__(self) -> str:
        return self.name.replace(": ", "-").replace(" ", "_")


@dataclass(frozen=True)
class Mutant(Kernel):
    """The kernel with a planted bug."""

    planted: tuple[Change, ...] = ()

    def watched(self, *watchers: str) -> Mutant:
        """Return this mutant with its heap watched."""
        return Mutant(self.rules, super().watched(*watchers).watchers, self.planted)

    @cached_property
    def text(self) -> str:
        """The kernel's text with the bug in it."""
        text = Kernel(self.rules, self.watchers).text
        for old, new in self.planted:
            found = places(text, old)
            assert found == 1, f"stands {found} times in the kernel, so that the bug cannot be planted:\n{old}"
            text = text.replace(old, new)
        return text


def mutant(mutation: Mutation) -> Mutant:
    """The kernel with this bug."""
    return Mutant(rule_table(), (), mutation.changes)


R_CURRENT = ("(slot_is_old(w, stamp) || heap_live(w))", "true")
OWNER_FOREIGN = "  if (!heap_single(w) && heap_owner(w, slot) != w->me) {\n"
CLAIM_KNOWS = "  const bool is_owner = heap_owner(w, slot) == w->me, old = slot_is_old(w, other);\n"
SHARED_KNOWS = "  const bool is_news = slot_is_old(w, other) ||"
PEEK = (
    "  const Term peek = w->heap[slot];\n"
    "  if ((peek & SUB_BIT) != (ulong)0 && term_is_atom(term_tag(peek))) { slot_read(w, slot, side); return; }\n"
)
PUBLISHES = "  slot_stamp_now(w, slot, side, ST_R);\n  slot_wake(w, slot, 1u - side);\n"
FREES = "  if ((heap_flags(w) & (PARAM_ATOMIC | PARAM_BLOCK)) != 0u) heap_tell(w, slot_lock(w, slot), ST_X | w->now);\n"
WAKES = "  slot_wake(w, slot, 1u - side);\n"
STUCK = "    slot_stamp_now(w, slot, side, ST_X | ST_S);\n  }\n"
WAITER = "  atomic_write(slot_waiter(w, w->slot, w->side), w->record + 1u);\n"
STAMP_A = "  heap_tell(w, slot_stamp(w, w->slot, w->side), ST_A | w->now);\n"
HOP = "        frontier_item(w, ITEM_HOP, w->target, w->record);\n"
TIE = "(q == mine && (other & ST_O) == 0u && side == 0u)"
POLL_BACK = "        frontier_item(w, ITEM_POLL, w->me, w->record);\n        if (origin == FROM_POLL"
POLL_CLAIM = "        slot_park(w);\n        frontier_item(w, ITEM_POLL, w->me, w->record);\n"
CLEAR = "    atomic_write(slot_waiter(w, slot, side), 0u);\n"
READS = CLEAR + "    slot_read(w, slot, side);\n"
TAKES = CLEAR + "    if (w->is_cancelled) {"
CURRENT = "  if ((other & (ST_R | ST_X)) != 0u && !old) { slot_wait(w, slot, side, OUT_PARKED, WHY_NONE); return; }\n"
CANCELLED = "      slot_stamp_now(w, slot, side, ST_X);\n      slot_wake(w, slot, 1u - side);\n    } else {\n"
SUSPEND = "    case OUT_FUEL: case OUT_STARVED: frontier_item(w, ITEM_SUSPEND, w->me, w->record); return;\n"
STAMP_FIRST = (
    "  heap_new(w, slot, other | SUB_BIT);\n  slot_stamp_now(w, slot, side, ST_R);\n",
    "  slot_stamp_now(w, slot, side, ST_R);\n  heap_new(w, slot, other | SUB_BIT);\n",
)
ARRIVAL = (
    "        const bool is_first = (atomic_or(slot_claim(w, w->slot), 0x80u) & 0x80u) == 0u;\n"
    "        frontier_item(w, is_first ? ITEM_HOP : ITEM_POLL, w->target, w->record);\n"
)

ENTRY = "    const ulong entry = frontier[state->first + i];\n"
LATE = "    if (i > 0u && (uint)(entry >> 60) == FROM_POLL && (params->now & 1u) != 0u) break;\n"
LATE_POLLS = (ENTRY, ENTRY + LATE)
"""No bug: polls may come late, and do where a thread's list of items is full. Here they do every other pass."""


def _mutation(option: str, name: str, protocol: dict[str, str], *changes: Change) -> Mutation:
    return Mutation(f"{option}: {name}", changes, protocol)


def _race(option: str, name: str, protocol: dict[str, str], *changes: Change) -> Mutation:
    return Mutation(f"{option}: {name}", changes, protocol, shadow=True)


CAUGHT: Final[tuple[Mutation, ...]] = (
    # all
    *(
        _mutation(option, "R current counts as old for other threads", protocol, R_CURRENT)
        for option, protocol in (("1", THREAD), ("1 block", BLOCK), ("2", ATOMIC), ("3", CLAIM))
    ),
    _mutation("1", "cell read before the stamp", THREAD, (OWNER_FOREIGN, PEEK + OWNER_FOREIGN)),
    _race("2", "cell read before the stamp", ATOMIC, (SHARED_KNOWS, PEEK + SHARED_KNOWS)),
    _mutation("3", "cell read before the stamp", CLAIM, (CLAIM_KNOWS, PEEK + CLAIM_KNOWS)),
    # 1 and 3
    *(
        _mutation(option, name, protocol, change)
        for option, protocol in (("1", THREAD), ("3", CLAIM))
        for name, change in (
            ("no wake at publish", (PUBLISHES, PUBLISHES.replace(WAKES, ""))),
            ("no wake at release", (FREES + WAKES, FREES)),
            ("no wake where a slot is stuck", (STUCK + WAKES, STUCK)),
        )
    ),
    # 1
    _mutation("1", "non-owner takes", THREAD, (OWNER_FOREIGN, "  if (false) {\n")),
    _mutation(
        "1",
        "BUSY treated as FREE",
        THREAD,
        ("  if (term_tag(t) >= F_ROOT) {\n    if (!slot_enter_again", "  if (false) {\n    if (!slot_enter_again"),
    ),
    _mutation(
        "1",
        "value published where the task happens to be",
        THREAD,
        ("  if ((heap_flags(w) & (PARAM_CLAIM | PARAM_ATOMIC)) != 0u) return true;\n", "  return true;\n"),
    ),
    _mutation("1", "deferral dropped", THREAD, (HOP, "        ;\n")),
    _mutation("1", "park leaves no stamp", THREAD, (WAITER + STAMP_A, WAITER)),
    _mutation(
        "1",
        "stamp of the waiter not cleared by the wake",
        THREAD,
        ("  if (!by_claim) atomic_write(slot_stamp(w, slot, other), 0u);\n", ""),
    ),
    _mutation("1", "hops appended in the order of arrival", THREAD, (HOP, ARRIVAL)),
    _mutation(
        "1",
        "region off by one",
        THREAD,
        (
            "(w->owner[loc >> w->region_shift] << w->tpb_shift)",
            "(w->owner[(loc >> w->region_shift) + 1u] << w->tpb_shift)",
        ),
    ),
    # 2, and 1 with unit block
    *(
        _mutation(option, name, protocol, change)
        for option, protocol in (("1 block", BLOCK), ("2", ATOMIC))
        for name, change in (
            (
                "load and store instead of a swap",
                (
                    "is_free && atomic_swap_if(slot_lock(w, slot), lock, LOCK_TAKEN)) {",
                    "is_free) {\n    atomic_write(slot_lock(w, slot), LOCK_TAKEN);\n    ",
                ),
            ),
            ("loser not polled", (POLL_BACK, "        if (origin == FROM_POLL")),
        )
    ),
    _mutation("2", "claim freed without a pass", ATOMIC, (FREES, FREES.replace("ST_X | w->now", "0u"))),
    _mutation(
        "2",
        "publisher left at a slot that is given back",
        ATOMIC,
        ("(bits & (ST_R | ST_S)) != 0u ? w->me + 1u : 0u", "w->me + 1u"),
    ),
    _mutation(
        "1 block",
        "publication of a block mate visible at once",
        BLOCK,
        (
            "atomic_read(slot_publisher(w, slot)) == w->me + 1u;",
            "((atomic_read(slot_publisher(w, slot)) - 1u) >> w->tpb_shift) == w->block;",
        ),
    ),
    # 3
    _mutation(
        "3",
        "non-owner takes at once",
        CLAIM,
        ("  if (is_owner && is_free && (other & ST_R) == 0u) {", "  if (is_free && (other & ST_R) == 0u) {"),
    ),
    _mutation(
        "3",
        "owner ignores an old A",
        CLAIM,
        ("((other & (ST_A | ST_O)) == ST_A && !old)", "((other & (ST_A | ST_O)) == ST_A)"),
    ),
    _mutation("3", "poll ignores O in a tie", CLAIM, (TIE, "(q == mine && side == 0u)")),
    _mutation("3", "both win a tie", CLAIM, (TIE, "(q == mine && (other & ST_O) == 0u)")),
    _mutation(
        "3",
        "R current without O counts for the owner",
        CLAIM,
        ("((other & (ST_R | ST_O)) == (ST_R | ST_O) && is_owner)", "((other & ST_R) != 0u && is_owner)"),
    ),
    _mutation(
        "3",
        "wake also for A current",
        CLAIM,
        ("  if (by_claim && !slot_is_old(w, stamp)) return;", "  if (false) return;"),
    ),
    _mutation(
        "3",
        "poll or wake ignores the waiter word",
        CLAIM,
        LATE_POLLS,
        (
            "  return atomic_read(slot_waiter(w, term_val(w->hand), tag == DP0 ? 0u : 1u)) == w->record + 1u;\n",
            "  return true;\n",
        ),
    ),
    _mutation(
        "3",
        "resuming does not clear the waiter word",
        CLAIM,
        LATE_POLLS,
        (READS, READS.replace(CLEAR, "")),
        (TAKES, TAKES.replace(CLEAR, "")),
    ),
    _mutation("3", "poll goes on at R current", CLAIM, (CURRENT, CURRENT.replace("(ST_R | ST_X)", "ST_X"))),
    _mutation("3", "poll drops on R old", CLAIM, (READS, CLEAR + "    task_stop(w, OUT_STALE, WHY_NONE);\n")),
    _mutation("3", "park without the poll", CLAIM, (POLL_CLAIM, "        slot_park(w);\n")),
    _mutation(
        "3", "one waiter word for both sides", CLAIM, ("(2u * (ulong)slot + 6u + side)", "(2u * (ulong)slot + 6u)")
    ),
    _mutation(
        "3",
        "woken task decides as a fresh arrival",
        CLAIM,
        (
            "is_called = (origin == FROM_POLL || origin == FROM_WAKE) && (heap_flags(w) & PARAM_CLAIM) != 0u;",
            "is_called = origin == FROM_POLL && (heap_flags(w) & PARAM_CLAIM) != 0u;",
        ),
    ),
    _mutation(
        "3",
        "X current counts for an arrival",
        CLAIM,
        (
            "const bool is_free = other == 0u || ((other & ST_X) != 0u && old) || ((other & (ST_A",
            "const bool is_free = other == 0u || (other & ST_X) != 0u || ((other & (ST_A",
        ),
    ),
    _mutation("3", "X current counts for a poll", CLAIM, (CURRENT, CURRENT.replace("(ST_R | ST_X)", "ST_R"))),
    _mutation("3", "cancelled claim writes no X", CLAIM, (CANCELLED, "    } else {\n")),
    _mutation("3", "stamp is the pass", CLAIM, ("w->now = params->now;", "w->now = params->now - 1u;")),
    _mutation(
        "3",
        "poll on R current recorded apart from parked",
        CLAIM,
        (CURRENT, CURRENT.replace("WHY_NONE", "(other & ST_R) != 0u ? WHY_BUSY : WHY_NONE")),
    ),
    # live
    *(
        _mutation(option, "stamp before cell, live", protocol | LIVE, STAMP_FIRST)
        for option, protocol in (("1", THREAD), ("1 block", BLOCK), ("2", ATOMIC), ("3", CLAIM))
    ),
)
"""Must each be caught."""

HARMLESS: Final[tuple[Mutation, ...]] = (
    _mutation("3", "late polls", CLAIM, LATE_POLLS),
    *(
        _mutation(option, "stamp before cell", protocol, STAMP_FIRST)
        for option, protocol in (("1", THREAD), ("1 block", BLOCK), ("2", ATOMIC), ("3", CLAIM))
    ),
    *(
        _mutation(option, "stamp before waiter", protocol, (WAITER + STAMP_A, STAMP_A + WAITER))
        for option, protocol in (("1", THREAD), ("3", CLAIM))
    ),
    _mutation(
        "1",
        "suspended tasks dealt to other threads",
        THREAD,
        (
            SUSPEND,
            "    case OUT_FUEL: frontier_item(w, ITEM_DEAL, 0u, w->record); return;\n"
            + SUSPEND.replace("OUT_FUEL: case ", ""),
        ),
    ),
)
"""Must not be caught: they show that no write order is relied on under visibility="pass"."""
