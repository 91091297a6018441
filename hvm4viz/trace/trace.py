"""The trace: what was recorded of one run, and what can be asked of it; longer answers have files of their own."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from hvm4viz.errors import DamagedTrace, ProgramError, TraceError
from hvm4viz.heap import Heap
from hvm4viz.program import Program, reread
from hvm4viz.resuming import resume_trace
from hvm4viz.trace.deferrals import deferral_pairs, match_deferrals
from hvm4viz.trace.diff import HeapDiff, heap_diff
from hvm4viz.trace.digest import is_ordered, trace_digest
from hvm4viz.trace.export.to_csv import to_csv
from hvm4viz.trace.export.to_dot import to_dot
from hvm4viz.trace.export.to_graphml import to_graphml
from hvm4viz.trace.export.to_npz import to_npz
from hvm4viz.trace.export.to_parquet import to_parquet
from hvm4viz.trace.export.to_perfetto import to_perfetto
from hvm4viz.trace.find import Hit, search
from hvm4viz.trace.graph import cell_graph
from hvm4viz.trace.heaps import Heaps, check_heap
from hvm4viz.trace.heatmap import Reduce, RegionMap, What, region_map
from hvm4viz.trace.history import CellHistory, cell_history
from hvm4viz.trace.operations import operations
from hvm4viz.trace.recorded import Recorded, State, locked
from hvm4viz.trace.roles import Roles
from hvm4viz.trace.slicing import slice_trace
from hvm4viz.trace.verify import Verification, verify_trace
from hvm4viz.trace.why import Cause, why
from hvm4viz.trace.writer import save_trace

if TYPE_CHECKING:
    import networkx as nx

    from hvm4viz.run import Run

__all__ = ["State", "Trace"]


class Trace(Recorded):
    """What was recorded of one run: read-only columns, pass by pass, and questions about them."""

    @cached_property
    def _heaps(self) -> Heaps:
        return Heaps(self)

    def at(self, p: int) -> Heap:
        """Return the heap at the start of pass p; the start of pass ``n_passes`` is the end of the run.

        It is the heap that a run stopped with ``max_passes=p`` leaves. Its tasks are known where the state of the
        machine was kept (``state_passes``) alone.

        Parameters
        ----------
        p : int
            0 to ``n_passes``; -1 is the end of the run.

        Returns
        -------
        heap : Heap
            With read-only words of all regions in use then.

        Raises
        ------
        TraceError
            If the trace was not recorded at ``full``, or no longer at that pass.
        IndexError
            If there is no such pass.
        """
        p = check_heap(self, p)
        return self._heaps.heap(p)

    def deltas(self, p0: int | None = None, p1: int | None = None) -> NDArray[np.void]:
        """Return the cells that passes p0 to p1 (without p1) changed: records of ``events.DELTA``, by pass and cell.

        A cell that several of them changed comes several times; ``diff`` puts these together.

        Raises
        ------
        TraceError
            If the trace was not recorded at ``full``, or no longer at these passes.
        """
        start, stop, _ = slice(p0, p1).indices(self.n_passes)
        check_heap(self, max(start, stop), what="changed cells")
        return self.long_table("deltas", start, stop)

    def ops(
        self, p0: int | None = None, p1: int | None = None, *, kind: str | None = None, slot: int | None = None
    ) -> NDArray[np.void]:
        """Return the operations on slots in passes p0 to p1 (without p1): records of ``operations.OPERATION``.

        Parameters
        ----------
        p0, p1 : int, optional
            First pass, and the pass after the last one.
        kind : str, optional
            Only this one: ``take``, ``publish``, ``read``, ``release``, ``stuck`` or ``wake``.
        slot : int, optional
            Only those on this slot.

        Returns
        -------
        ops : ndarray
            In the order of passes and frontiers, those of one task as they happened.

        Raises
        ------
        TraceError
            If the trace was not recorded at ``full``.
        ValueError
            If there is no such kind.
        """
        check_heap(self, 0, what="operations on slots")
        return locked(operations(self, p0, p1, kind=kind, slot=slot))

    def cell(self, loc: int) -> CellHistory:
        """Return the life of a cell: what was written to it in which pass, and by whom as far as it is known.

        Raises
        ------
        TraceError
            If the trace was not recorded at ``full``.
        IndexError
            If there is no such cell.
        """
        return cell_history(self, loc)

    def find(self, query: str, *, start: int | None = None, back: bool = False) -> Hit | None:
        """Return the first thing that fits, from a pass on; or the last one up to a pass.

        Parameters
        ----------
        query : str
            Conditions with blanks between them, all of which must hold. Tasks: ``outcome:deferred``, ``reason:take``,
            ``origin:hop``, ``thread:3``, ``slot:120``, ``interactions:>100``. Deferrals: ``age:>3``. At level ``full``
            operations on slots: ``op:take``; and cells by what was written to them: ``tag:DP0``, ``label:L``,
            ``def:@main``, or a name (of a constructor, a definition, a primitive). All of these: ``loc:123``,
            ``region:7``. Numbers may be ``3``, ``>3``, ``>=3``, ``<3``, ``<=3`` or ``3..7``.
        start : int, optional
            Pass to start from, itself included; by default the first one, or the last one if ``back``.
        back : bool
            Search towards the first pass.

        Returns
        -------
        hit : Hit or None
            None if nothing fits.

        Raises
        ------
        ValueError
            If the query is not understood, with the nearest key or name.
        TraceError
            If the trace does not hold what is searched.
        """
        return next(search(self, query, start=start, back=back), None)

    def find_all(self, query: str) -> Iterator[Hit]:
        """Go through everything that fits, by pass; see ``find``."""
        return search(self, query)

    def why(self, loc: int, p: int) -> list[Cause]:
        """Tell why a task waits in pass p: at which slot, who holds it, and what that task waits for in turn.

        Parameters
        ----------
        loc : int
            Root cell of the task.
        p : int
            A pass.

        Returns
        -------
        causes : list of Cause
            From this task to the last one that waits itself; empty if no task with this root cell waits. Below level
            ``full`` it is not known who holds a slot, so that the chain has one link.
        """
        self.need_events("why a task waits")
        return why(self, loc, p)

    def diff(self, p: int, q: int) -> HeapDiff:
        """Compare the heaps at the start of two passes.

        Raises
        ------
        TraceError
            If the trace does not know both heaps.
        IndexError
            If there is no such pass.
        """
        return heap_diff(self, p, q)

    def graph(self, p: int, *, root: int | None = None, depth: int = 6, max_nodes: int = 300) -> nx.MultiDiGraph[int]:
        """Return the cells around a cell at the start of pass p, as a graph.

        Nodes are cells, with what their word says (``tag``, ``label``, ``value``, ``text`` ...), ``region``, ``owner``
        and ``hidden``: how many cells that they point to are left out. Edges point from a word to the cells that it
        points to; their key says which: a field, ``body``, ``binder``, ``slot``, or the ``parent`` of a frame.

        Parameters
        ----------
        p : int
            The pass; ``n_passes`` is the end.
        root : int, optional
            Where to start; by default the cell that holds the whole term.
        depth : int
            Most steps from there.
        max_nodes : int
            Most cells, the nearest ones.

        Raises
        ------
        TraceError
            If the trace does not know that heap.
        IndexError
            If there is no such pass or cell.
        """
        return cell_graph(self, p, root=root, depth=depth, max_nodes=max_nodes)

    def heatmap(
        self, what: What = "deferrals", *, shape: tuple[int, int] = (512, 512), reduce: Reduce = "sum"
    ) -> RegionMap:
        """Count something by region and pass, in at most ``shape`` bins; see ``heatmap.region_map``.

        Parameters
        ----------
        what : str
            ``deferrals`` by the region of the task, ``deferrals to`` by that of the slot, ``entries``, ``cells`` in
            use, ``remote writes``; at level ``full`` also ``takes`` and ``writes``.
        shape : (int, int)
            Most bins of regions and of passes.
        reduce : {"sum", "max", "mean"}
            How the counts of a bin become one.
        """
        return region_map(self, what, shape=shape, reduce=reduce)

    @cached_property
    def roles(self) -> Roles:
        """Which cells hold words of the protocol instead of terms; a ``TraceError`` below level ``full``."""
        check_heap(self, 0, what="what the cells hold")
        return Roles(self)

    @cached_property
    def _deferrals(self) -> NDArray[np.void]:
        return locked(match_deferrals(self))

    def deferrals(self) -> NDArray[np.void]:
        """Return every deferral: records of ``deferrals.DEFERRAL``, by opening pass and frontier order.

        Where events were not kept, deferrals are missing, and some that are here have no end.

        Raises
        ------
        TraceError
            If no events were recorded.
        """
        self.need_events("single deferrals")
        return self._deferrals

    def deferral_pairs(self) -> NDArray[np.void]:
        """Return the deferrals of each pass by region: records (pass, home, owner, count).

        Home is the region of the task's root cell, owner the region of the slot. Works at ``counts`` too.
        """
        return self._pairs

    @cached_property
    def _pairs(self) -> NDArray[np.void]:
        return locked(deferral_pairs(self))

    def digest(self) -> str:
        """Return the trace digest in hexadecimal, as trace/README.md defines it.

        Raises
        ------
        TraceError
            If there is none: at ``counts`` and ``off``, of a cut trace, and before the end of the run.
        """
        return self._digest

    def digest_or_none(self) -> str | None:
        """Return the trace digest, or None where there is none."""
        try:
            return self.digest()
        except TraceError:
            return None

    @cached_property
    def _digest(self) -> str:
        if self._lines_cut and self._recorded_digest:
            return self._recorded_digest
        digest = trace_digest(self)
        if self._recorded_digest not in (None, digest):
            raise DamagedTrace(
                f"the trace says that its digest is {self._recorded_digest}, but it is {digest}: "
                "it is not as it was written"
            )
        return digest

    def verify(self) -> Verification:
        """Re-check the protocol of the machine from this recording alone.

        Returns
        -------
        verification : Verification
            The first offence, if there is one: pass, root cell, thread and the broken rule in words; and which rules
            were checked, and which this recording cannot tell of. Takes and publications show at level ``full`` only.
        """
        return verify_trace(self)

    def slice(self, p0: int | None = None, p1: int | None = None) -> Trace:
        """Return passes p0 to p1 (without p1) as a trace, numbered from 0.

        It knows how the run began only if it starts with pass 0, and how it ended only if it goes to the end; deferrals
        that were open before it are not in it. It has no digest, unless it is the whole trace.

        Parameters
        ----------
        p0, p1 : int, optional
            First pass, and the pass after the last one; as in a slice of a list.
        """
        return slice_trace(self, p0, p1)

    def resume(self, p: int, **options: Any) -> Run:
        """Go on from the start of pass p as if the run had been stopped there with ``max_passes=p``.

        Parameters
        ----------
        p : int
            0 to ``n_passes``.
        **options
            ``max_passes``, ``timeout``, ``heap``, ``device``, ``workers``, ``seed``, ``kernel``, ``trace_limit``,
            ``save``, ``progress``, ``on_pass``, ``on_log``, ``on_result``: as in ``run``; passes count from the start
            of the run.

        Returns
        -------
        run : Run
            With the whole recording, the passes before p included: its digest is that of a run that never stopped.

        Raises
        ------
        TraceError
            If the trace does not know enough of that pass: it was not recorded at ``full``, or no longer then; the
            machine's state is not known there, because its passes are not deterministic, or is none that a machine can
            be in; or the program, the kernel or the primitives are others now.
        ValueError
            If an option is out of range.

        Notes
        -----
        The heap and the state that the trace holds are checked before the machine runs on them.
        """
        return resume_trace(self, p, **options)

    @property
    def is_ordered(self) -> bool:
        """Whether the passes depend on program and settings alone."""
        return is_ordered(self.header, "")

    @cached_property
    def state_passes(self) -> NDArray[np.int64]:
        """Passes at whose start the state of the machine is known, so that they can be resumed at once; 0 always is."""
        found = [
            chunk.first + 1 + np.flatnonzero(np.diff(chunk.tables["state"].offsets))
            for chunk in self.chunks
            if "state" in chunk.tables
        ]
        last = [self.n_passes] if self.final_state else []
        return locked(np.unique(np.concatenate([[0], *found, last])).astype(np.int64))

    def last_state(self, p: int) -> tuple[int, bytes]:
        """Return the last of ``state_passes`` up to p, and the state at its start: empty for 0, where a run begins."""
        passes = self.state_passes
        known = int(passes[int(np.searchsorted(passes, p, side="right")) - 1])
        if known == 0:
            return 0, b""
        if known == self.n_passes and self.final_state:
            return known, self.final_state
        return known, self.long_table("state", known - 1, known)["byte"].tobytes()

    @cached_property
    def program(self) -> Program | None:
        """The program, parsed once more from the recorded texts; None if there is none, or it cannot be parsed here."""
        files = self.header.source
        if not files:
            return None
        try:
            return reread(files, self.header.units)
        except ProgramError:  # such as a primitive that is not registered here
            return None

    def view(self, **options: Any) -> Any:
        """Show the trace: see ``hvm4viz.TraceView`` for the options."""
        return import_module("hvm4viz.widgets.trace_view").TraceView(self, **options)  # looked up: traces know no views

    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write the trace to one file, completely or not at all.

        Raises
        ------
        TraceExists
            If the file is there already and ``overwrite`` was not asked for.
        """
        return save_trace(self, path, overwrite=overwrite)

    # As other tools read it; each answers with the path, and writes a whole file or none.

    def to_csv(self, path: str | Path, *, table: str = "deferrals", overwrite: bool = False) -> Path:
        """Write one table as comma-separated values, with a line of names.

        Parameters
        ----------
        path : path-like
            The file.
        table : str
            ``passes``, ``events``, ``deferrals``, ``pairs``, ``outcomes``, ``rules``, ``cells``, ``remote``, ``given``;
            at level ``full`` also ``ops`` and ``deltas``.
        overwrite : bool
            Whether it may replace a file that is there.

        Raises
        ------
        ValueError
            If there is no such table.
        TraceError
            If the trace does not hold it, or the file cannot be written.
        """
        return to_csv(self, path, table=table, overwrite=overwrite)

    def to_parquet(self, path: str | Path, *, table: str = "deferrals", overwrite: bool = False) -> Path:
        """Write one table as a Parquet file; see ``to_csv``."""
        return to_parquet(self, path, table=table, overwrite=overwrite)

    def to_npz(self, path: str | Path, *, table: str = "deferrals", overwrite: bool = False) -> Path:
        """Write one table as a NumPy archive, an array a column; see ``to_csv``.

        Outcomes, reasons, operations and rules are numbers; ``NAME_names`` has their names.
        """
        return to_npz(self, path, table=table, overwrite=overwrite)

    def to_dot(self, path: str | Path, p: int, *, overwrite: bool = False, **options: Any) -> Path:
        """Write the cells around a cell at the start of pass p for Graphviz; options as in ``graph``."""
        return to_dot(self, path, p, overwrite=overwrite, **options)

    def to_graphml(self, path: str | Path, p: int, *, overwrite: bool = False, **options: Any) -> Path:
        """Write the cells around a cell at the start of pass p as GraphML; options as in ``graph``."""
        return to_graphml(self, path, p, overwrite=overwrite, **options)

    def to_perfetto(
        self, path: str | Path, *, clock: Literal["pass", "time"] = "pass", overwrite: bool = False
    ) -> Path:
        """Write a trace for ui.perfetto.dev: a track a region, a slice a pass, arrows of deferrals, counters.

        Parameters
        ----------
        path : path-like
            The file.
        clock : {"pass", "time"}
            Whether every pass is a millisecond long, or as long as it took.
        overwrite : bool
            Whether it may replace a file that is there.

        Raises
        ------
        TraceError
            If no events were recorded, the package ``perfetto`` is not installed, or the file cannot be written.
        """
        return to_perfetto(self, path, clock=clock, overwrite=overwrite)
