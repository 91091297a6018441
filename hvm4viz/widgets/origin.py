"""Where a program's cells come from: source texts, definitions, and the place of each static cell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hvm4viz.trace.trace import Trace
from hvm4viz.widgets.frames import Frame, pack

if TYPE_CHECKING:
    from hvm4viz.book import Book
    from hvm4viz.program import Program

SOURCE_CHARS: int = 1 << 20
"""Characters of one source text that are shown; what is left out is said."""


@dataclass(frozen=True)
class Origin:
    """Source texts of a run, and the book that its closures point into, where it is known."""

    files: tuple[tuple[str, str], ...]
    book: Book | None = None

    @classmethod
    def of_program(cls, program: Program) -> Origin:
        """Take the book of a program."""
        return cls(program.files, program.book)

    @classmethod
    def of_trace(cls, trace: Trace) -> Origin:
        """Read the book once more from the source texts that the trace holds."""
        program = trace.program
        return cls(trace.header.source, program.book if program is not None else None)

    def frame(self) -> Frame:
        """Pack texts, definitions with their places, and the place of each static cell."""
        files = [[name, text[:SOURCE_CHARS], len(text)] for name, text in self.files]
        book = self.book
        if book is None:
            return pack("source", {}, files=files, definitions=[], constructors={}, primitives=[])
        columns: dict[str, Any] = {
            "file": book.spans[:, 0].astype(np.uint16),
            "start": book.spans[:, 1].copy(),
            "end": book.spans[:, 2].copy(),
            "definition": book.definition,
        }
        return pack(
            "source",
            columns,
            files=files,
            definitions=self._definitions(book),
            constructors={str(code): name for code, name in book.ctor_names.items()},
            primitives=[name for name, _ in book.prims],
        )

    @staticmethod
    def _definitions(book: Book) -> list[list[object]]:
        """Return name, file, first and last character of each definition by id; file −1 for one that has no text."""
        out: list[list[object]] = [[name, -1, 0, 0] for name in book.names]
        for index in range(len(book.names)):
            if not book.roots[index]:
                continue
            rows = book.spans[1:][book.definition[1:] == index]
            if rows.size:
                file, start = int(rows[0, 0]), int(rows[:, 1].min())
                head = book.sources[file].text.rfind(f"@{book.names[index]}", 0, start + 1)
                out[index] = [book.names[index], file, head if head >= 0 else start, int(rows[:, 2].max())]
        return out
