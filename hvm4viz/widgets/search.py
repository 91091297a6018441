"""Searches of a view, a slice at a time: the trace is asked as ``Trace.find_all`` does, and what was found is kept."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from hvm4viz.trace.find import Hit
from hvm4viz.trace.trace import Trace
from hvm4viz.widgets.frames import Frame, pack

SLICE_S: Final = 0.1
"""Seconds that one question of a search takes, unless the next hit is far away."""

SLICE_HITS: Final = 20_000
"""Most hits of one answer."""

KEPT: Final = 4
"""Searches that can be gone on with."""


@dataclass
class _Search:
    hits: Iterator[Hit]
    passes: list[int] = field(default_factory=list[int])
    locs: list[int] = field(default_factory=list[int])
    is_over: bool = False


class Searches:
    """The searches of one trace."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._kept: OrderedDict[str, _Search] = OrderedDict()

    def frame(self, query: str, first: int) -> Frame:
        """Return hits from number ``first`` on: columns ``pass`` and ``loc``; ``next`` is the number to go on from.

        Raises
        ------
        ValueError
            If the query is not understood.
        TraceError
            If the trace does not hold what it asks for.
        """
        if query not in self._kept:
            self._kept[query] = _Search(self._trace.find_all(query))
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        self._kept.move_to_end(query)
        search = self._kept[query]
        until = time.monotonic() + SLICE_S
        while not search.is_over and len(search.passes) < first + SLICE_HITS:
            hit = next(search.hits, None)
            if hit is None:
                search.is_over = True
            else:
                search.passes.append(hit.pass_index)
                search.locs.append(hit.loc)
            if time.monotonic() > until:
                break
        last = min(len(search.passes), first + SLICE_HITS)
        columns = {
            name: np.array(found[first:last], np.uint32)
            for name, found in (("pass", search.passes), ("loc", search.locs))
        }
        is_over = search.is_over and last == len(search.passes)
        return pack("search", columns, next=None if is_over else last)
