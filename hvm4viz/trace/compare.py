"""Two traces beside each other: whether the same happened, where they part first, and what differs in all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from hvm4viz.errors import TraceError
from hvm4viz.events import OUTCOMES, REASONS
from hvm4viz.trace.heatmap import What, bin_edges, region_counts
from hvm4viz.trace.sparse import Sparse

if TYPE_CHECKING:
    from hvm4viz.outcome import Run
    from hvm4viz.trace.trace import Trace

Align = Literal["pass", "interactions"]
By = Literal["region", "rule", "outcome"]

COMPARED: Final = ("thread", "loc", "slot", "side", "outcome", "reason", "interactions", "cells")
"""Fields of an event that are compared: those that the digest covers."""

PASS_FIELDS: Final = ("frontier", "interactions", "longest", "parked")
"""Values of a pass that are compared."""

STEP_EVENTS: Final = 1 << 18
"""Events compared at a time."""


@dataclass(frozen=True, slots=True)
class Difference:
    """Where two traces part.

    Attributes
    ----------
    pass_index : int
        Pass of the first trace; its number of passes if it ends there.
    other_pass : int
        Pass of the second trace: another one only if they are aligned by interactions.
    entry : int or None
        Place in the frontier; None if it is the pass as a whole, a cell, or the end of the run.
    field : str
        What differs: a field of the event, a value of the pass, ``entries``, ``passes``, ``cell N``, ``status``,
        ``line N``.
    a, b : object
        Both values; None where one has none.
    """

    pass_index: int
    other_pass: int
    entry: int | None
    field: str
    a: object
    b: object

    def __str__(self) -> str:
        """Say it in words."""
        where = f"pass {self.pass_index}"
        if self.other_pass != self.pass_index:
            where += f" (of the other: {self.other_pass})"
        if self.entry is not None:
            where += f", task {self.entry}"
        return f"{where}: {self.field} is {_shown(self.a)} in the first, {_shown(self.b)} in the second"


def _plain(value: object) -> str:
    """Show a setting as it is, unless a terminal would obey something in it."""
    return f"{value}" if f"{value}".isprintable() else repr(value)


def _shown(value: object) -> str:
    return "nothing" if value is None else repr(value) if isinstance(value, str) else f"{value}"


@dataclass(frozen=True, slots=True)
class DifferenceMap:
    """What differs by region and step, the first trace less the second, gathered into bins.

    Attributes
    ----------
    values : ndarray of float64, shape (n_region_bins, n_step_bins)
    what, align : str
        What was counted, and what a step is: a pass, or an interaction.
    regions_per_bin, steps_per_bin : int
        Size of a bin; the last ones may be smaller.
    n_regions, n_steps : int
        Size of the larger of both.
    """

    values: NDArray[np.float64]
    what: str
    align: str
    regions_per_bin: int
    steps_per_bin: int
    n_regions: int
    n_steps: int


@dataclass(frozen=True)
class Comparison:
    """Two traces beside each other.

    Attributes
    ----------
    a, b : Trace
    align : {"pass", "interactions"}
        Whether the n-th pass is compared with the n-th pass, or the n-th task that ran with the n-th, whatever passes
        they ran in.
    names : (str, str)
        What messages call them.
    """

    a: Trace
    b: Trace
    align: Align = "pass"
    names: tuple[str, str] = ("the first trace", "the second trace")

    @property
    def equal(self) -> bool:
        """Whether the same happened in both, as far as both know; times, devices and settings do not count."""
        return self.first_difference is None

    @cached_property
    def first_difference(self) -> Difference | None:
        """Where the traces part first; None if they do not."""
        return next(self._differences(), None)

    @cached_property
    def settings(self) -> dict[str, tuple[object, object]]:
        """What was asked for differently: settings of the machine, program, entry, mode, limit, kernel, device."""
        found: dict[str, tuple[object, object]] = {}
        one, two = self.a.header, self.b.header
        for name in dict.fromkeys([*one.machine, *two.machine]):
            pair = one.machine.get(name), two.machine.get(name)
            if pair[0] != pair[1]:
                found[name] = pair
        texts = [tuple(text for _, text in header.source) for header in (one, two)]
        if texts[0] != texts[1]:
            found["program"] = tuple(", ".join(name for name, _ in header.source) for header in (one, two))  # type: ignore[assignment]
        for name in ("entry", "mode", "limit", "kernel", "device"):
            pair = getattr(one, name), getattr(two, name)
            if pair[0] != pair[1]:
                found[name] = pair
        return found

    def table(self, by: By = "region") -> NDArray[np.void]:
        """Return totals of both traces beside each other.

        Parameters
        ----------
        by : {"region", "rule", "outcome"}
            Deferrals by the region of the task; interactions by rule; entries by outcome.

        Returns
        -------
        table : ndarray of records (name, a, b, difference)
            Every region, rule or outcome that either trace has; ``difference`` is b less a.
        """
        if by not in get_args(By):
            raise ValueError(f"by={by!r}: must be one of {', '.join(map(repr, get_args(By)))}")
        one, two = (_totals(trace, by) for trace in (self.a, self.b))
        names = list(dict.fromkeys([*one, *two]))
        if by == "region":
            names.sort(key=int)
        width = max(map(len, names), default=1)
        out = np.zeros(len(names), [("name", f"U{width}"), ("a", "<i8"), ("b", "<i8"), ("difference", "<i8")])
        out["name"] = names
        out["a"], out["b"] = ([totals.get(name, 0) for name in names] for totals in (one, two))
        out["difference"] = out["b"] - out["a"]
        return out

    def view(self, **options: Any) -> Any:
        """Show both beside each other: see ``hvm4viz.TraceView`` for the options."""
        views = import_module("hvm4viz.widgets.trace_view")  # looked up: traces know no views
        return views.TraceView(self.a, compare=self.b, **options)

    def heatmap(self, what: What = "deferrals", *, shape: tuple[int, int] = (512, 512)) -> DifferenceMap:
        """Count something by region and step in both, and return the difference.

        Parameters
        ----------
        what : str
            As in ``Trace.heatmap``, but not ``cells``.
        shape : (int, int)
            Most bins of regions and of steps.
        """
        if what == "cells":
            raise ValueError("what='cells': cells in use are a state, not a count; compare 'writes' at level full")
        n_regions = max(self.a.n_regions, self.b.n_regions)
        steps = [self._steps(trace) for trace in (self.a, self.b)]
        n_steps = max(int(each[-1]) for each in steps)
        region_edges, step_edges = bin_edges(n_regions, shape[0]), bin_edges(n_steps, shape[1])
        values = np.zeros((region_edges.size - 1, step_edges.size - 1))
        per_region, per_step = (int(edges[1]) if edges.size > 1 else 1 for edges in (region_edges, step_edges))
        for trace, starts, sign in ((self.a, steps[0], 1), (self.b, steps[1], -1)):
            for passes, regions, counts in region_counts(trace, what) if values.size else ():
                column = np.minimum(starts[passes] // per_step, values.shape[1] - 1)
                np.add.at(values, (regions // per_region, column), sign * counts.astype(np.int64))
        return DifferenceMap(values, what, self.align, per_region, per_step, n_regions, n_steps)

    def _steps(self, trace: Trace) -> NDArray[np.int64]:
        """Return the step at which each pass starts, and the last one's end."""
        if self.align == "pass":
            return np.arange(trace.n_passes + 1)
        return np.concatenate([[0], np.cumsum(trace.interactions.astype(np.int64))])

    def __str__(self) -> str:
        """Say what differs."""
        others = {name: pair for name, pair in self.settings.items() if name != "kernel"}
        settings = ", ".join(
            f"{name} {_plain(one)} and {_plain(two)}" for name, (one, two) in others.items() if name != "program"
        )
        told = f"asked for: {settings}\n" if settings else ""
        if "program" in others:
            told = f"these are traces of two programs, {' and '.join(map(_plain, others['program']))}\n{told}"
        if self.first_difference is None:
            return f"{told}the same happened in both: {self.a.n_passes:,} passes, {self.a.n_events:,} events"
        lines = [f"{told}{self.first_difference}"]
        for what, one, two in (
            ("passes", self.a.n_passes, self.b.n_passes),
            ("interactions", int(self.a.interactions.sum()), int(self.b.interactions.sum())),
            ("deferrals", self.a.n_deferrals, self.b.n_deferrals),
            ("contentions", self.a.n_contentions, self.b.n_contentions),
        ):
            lines.append(f"{what:13}{one:>14,}{two:>14,}{two - one:>+14,}")
        return "\n".join(lines)

    # Where they part.

    def _differences(self) -> Iterator[Difference]:
        """Go through some of the differences, the first one first."""
        a, b = self.a, self.b
        has_events = all(trace.level in ("events", "full") for trace in (a, b))
        if self.align == "interactions":
            for name, trace in zip(self.names, (a, b), strict=True):
                if trace.level not in ("events", "full"):
                    raise TraceError(
                        f"align='interactions' compares tasks, which {name} does not hold (level {trace.level}); "
                        "record its program again under another name with record='events' save='FILE.hvt'"
                    )
            yield from self._along_tasks()
        else:
            found = [
                *(self._in_events() if has_events else ()),
                *self._in_passes(),
                *(self._in_cells() if a.level == b.level == "full" else ()),
            ]
            yield from sorted(found, key=lambda each: each.pass_index)[:1]
            if a.n_passes != b.n_passes:
                p = min(a.n_passes, b.n_passes)
                yield Difference(p, p, None, "passes", a.n_passes, b.n_passes)
        yield from self._at_the_end()

    def _in_events(self) -> Iterator[Difference]:
        """Find the first entry that differs."""
        a, b = self.a, self.b
        n = min(a.n_passes, b.n_passes, a.events_until, b.events_until)
        sizes = [np.diff(trace.event_offsets[: n + 1]) for trace in (a, b)]
        other = np.flatnonzero(sizes[0] != sizes[1])
        alike = int(other[0]) if other.size else n  # up to here, passes have equally many entries
        found = _first_event(a, b, 0, int(a.event_offsets[alike]), by_pass=True)
        if found is None and alike < n:
            found = self._in_widths(alike)
        if found is not None:
            yield found

    def _in_widths(self, p: int) -> Difference:
        """Find the first difference in a pass that has fewer entries in one of them."""
        one, two = self.a.events(p, p + 1), self.b.events(p, p + 1)
        size = min(one.size, two.size)
        for name in ("loc", *COMPARED):
            at = np.flatnonzero(one[name][:size] != two[name][:size])
            if at.size:
                entry = int(at[0])
                return Difference(p, p, entry, name, _named(name, one[name][entry]), _named(name, two[name][entry]))
        return Difference(p, p, size, "entries", one.size, two.size)

    def _in_passes(self) -> Iterator[Difference]:
        """Find the first pass that differs as a whole."""
        n = min(self.a.n_passes, self.b.n_passes)
        for name in PASS_FIELDS:
            one, two = self.a.rows[name][:n], self.b.rows[name][:n]
            at = np.flatnonzero(one != two)
            if at.size:
                p = int(at[0])
                yield Difference(p, p, None, name, int(one[p]), int(two[p]))
        rows = [trace.outcomes[:n] for trace in (self.a, self.b)]
        passes, codes = np.nonzero(rows[0] != rows[1])
        if passes.size:
            p, code = int(passes[0]), int(codes[0])
            yield Difference(p, p, None, OUTCOMES[code], int(rows[0][p, code]), int(rows[1][p, code]))

    def _in_cells(self) -> Iterator[Difference]:
        """Find the first cell that differs; heaps are alike before the first pass in which changes differ."""
        a, b = self.a, self.b
        n = min(a.n_passes, b.n_passes, a.events_until, b.events_until)
        size = max(a.header.heap.size, b.header.heap.size)
        starts = [np.zeros(size, np.uint64) for _ in "ab"]
        for start, trace in zip(starts, (a, b), strict=True):
            start[: trace.header.heap.size] = trace.header.heap
        at = np.flatnonzero(starts[0] != starts[1])
        if at.size:
            cell = int(at[0])
            yield Difference(0, 0, None, f"cell {cell}", int(starts[0][cell]), int(starts[1][cell]))
            return
        for p in range(n):
            one, two = a.long_table("deltas", p, p + 1), b.long_table("deltas", p, p + 1)
            if np.array_equal(one, two):
                continue
            words = [dict(zip(each["cell"].tolist(), each["after"].tolist(), strict=True)) for each in (one, two)]
            cell = min(c for c in words[0].keys() | words[1].keys() if words[0].get(c) != words[1].get(c))
            heaps = [trace.at(p + 1).words for trace in (a, b)]
            values = [int(heap[cell]) if cell < heap.size else 0 for heap in heaps]
            yield Difference(p, p, None, f"cell {cell}", values[0], values[1])
            return

    def _along_tasks(self) -> Iterator[Difference]:
        """Find the first task that differs, whatever passes they ran in."""
        a, b = self.a, self.b
        n = min(a.n_events, b.n_events)
        found = _first_event(a, b, 0, n, by_pass=False)
        if found is not None:
            yield found
        elif a.n_events != b.n_events:
            passes = [int(np.searchsorted(trace.event_offsets, n, side="right")) - 1 for trace in (a, b)]
            yield Difference(passes[0], passes[1], None, "entries", a.n_events, b.n_events)

    def _at_the_end(self) -> Iterator[Difference]:
        one, two = self.a.end, self.b.end
        p, q = self.a.n_passes, self.b.n_passes
        if (one is None) != (two is None) or (one and two and one.status != two.status):
            yield Difference(p, q, None, "status", one.status if one else None, two.status if two else None)
        for number, (line, other) in enumerate(zip_longest(one.lines if one else (), two.lines if two else ())):
            if line != other:
                yield Difference(p, q, None, f"line {number}", line, other)


def _first_event(a: Trace, b: Trace, start: int, stop: int, *, by_pass: bool) -> Difference | None:
    """Find the first of events ``start`` to ``stop`` that differs."""
    fields = COMPARED if by_pass else tuple(name for name in COMPARED if name != "thread")
    for lo in range(start, stop, STEP_EVENTS):
        hi = min(lo + STEP_EVENTS, stop)
        columns = {name: (_column(a, name, lo, hi), _column(b, name, lo, hi)) for name in fields}
        first = min(
            (int(at[0]) for one, two in columns.values() if (at := np.flatnonzero(one != two)).size), default=None
        )
        if first is None:
            continue
        name = next(name for name, (one, two) in columns.items() if one[first] != two[first])
        one, two = columns[name]
        passes = [int(np.searchsorted(trace.event_offsets, lo + first, side="right")) - 1 for trace in (a, b)]
        entry = lo + first - int(a.event_offsets[passes[0]])
        return Difference(passes[0], passes[1], entry, name, _named(name, one[first]), _named(name, two[first]))
    return None


def _column(trace: Trace, name: str, lo: int, hi: int) -> NDArray[Any]:
    """Return a field of events ``lo`` to ``hi``, counted through all passes."""
    p0 = int(np.searchsorted(trace.event_offsets, lo, side="right")) - 1
    p1 = int(np.searchsorted(trace.event_offsets, hi, side="left"))
    before = int(trace.event_offsets[p0])
    return trace.column(name, p0, p1)[lo - before : hi - before]


def _named(name: str, value: Any) -> object:
    names = {"outcome": OUTCOMES, "reason": REASONS}.get(name)
    return (names[int(value)] or "none") if names else int(value)


def _totals(trace: Trace, by: By) -> dict[str, int]:
    if by == "rule":
        rules: Sparse = trace.rules
        return {name: int(n) for name, n in zip(trace.header.rules, rules.totals(), strict=True) if n}
    if by == "outcome":
        return {name: int(n) for name, n in zip(OUTCOMES, trace.outcomes.sum(axis=0), strict=True) if n}
    pairs = trace.deferral_pairs()
    counts = np.bincount(pairs["home"], pairs["count"], trace.n_regions)
    return {str(region): int(counts[region]) for region in range(trace.n_regions)}


def compare(a: Trace | Run, b: Trace | Run, *, align: Align = "pass") -> Comparison:
    """Compare two runs or traces.

    Parameters
    ----------
    a, b : Trace or Run
        Of the same program or of another one, on the same machine or on another one.
    align : {"pass", "interactions"}
        Compare pass by pass; or task by task in the order in which they ran, whatever passes they ran in.

    Returns
    -------
    comparison : Comparison
        ``.equal``, ``.first_difference``, ``.settings``, ``.table()``, ``.heatmap()``.

    Raises
    ------
    ValueError
        If there is no such alignment.
    """
    if align not in get_args(Align):
        raise ValueError(f"align={align!r}: must be one of {', '.join(map(repr, get_args(Align)))}")
    return Comparison(_trace(a), _trace(b), align)


def _trace(subject: Trace | Run) -> Trace:
    return getattr(subject, "trace", subject)  # type: ignore[return-value]
