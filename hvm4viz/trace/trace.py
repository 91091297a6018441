"""The trace: what was recorded of one run, and what can be asked of it; longer answers have files of their own."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hvm4viz.errors import DamagedTrace, TraceError
from hvm4viz.trace.deferrals import deferral_pairs, match_deferrals
from hvm4viz.trace.digest import trace_digest
from hvm4viz.trace.recorded import Recorded, State, locked
from hvm4viz.trace.writer import save_trace

__all__ = ["State", "Trace"]


class Trace(Recorded):
    """What was recorded of one run: read-only columns, pass by pass, and questions about them."""

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
        self._need_events("single deferrals")
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

    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write the trace to one file, completely or not at all.

        Raises
        ------
        TraceExists
            If the file is there already and ``overwrite`` was not asked for.
        """
        return save_trace(self, path, overwrite=overwrite)
