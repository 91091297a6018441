"""Functions: ``λx. b``, with clones, labels and further parameters, and case functions ``λ{...}``."""

from __future__ import annotations

from hvm4viz.syntax.binders import Ends, Plain, read_label
from hvm4viz.syntax.cases import read_cases
from hvm4viz.syntax.reader import Frame, Reader


def read_lambda(reader: Reader, start: int) -> int | None:
    """Read on behind ``λ``, up to the body."""
    while not reader.take("{"):
        cloned = reader.take("&")
        name = reader.name("a parameter starts with a letter")
        binder: Plain | Ends
        if not reader.take("&"):
            binder = Plain(reader, name, cloned=cloned)
        elif reader.take("("):
            reader.ask(_Label(reader, start, name, cloned=cloned))
            return None
        else:
            binder = Ends(name, read_label(reader), cloned=cloned)
            binder.open(reader)
        reader.ask(_Function(reader, start, binder))
        if not reader.take(","):
            reader.expect(".", "a function is λx. body, with commas between parameters: λx,y. body")
            return None
        reader.skip()
        start = reader.pos
    return read_cases(reader, start)


class _Function(Frame):
    """``λx. b``, waiting for the body."""

    __slots__ = ("binder",)

    def __init__(self, reader: Reader, start: int, binder: Plain | Ends) -> None:
        super().__init__(reader, start)
        self.binder = binder

    def resume(self, reader: Reader, term: int) -> int:
        """Close the binder."""
        inner = reader.span
        reader.span = reader.spanning(self.start)
        if isinstance(self.binder, Plain):
            return self.binder.wrap(reader, term, inner, erasable=True)
        return self.binder.wrap_parameter(reader, term, inner)


class _Label(Frame):
    """``λx&(l). b``, waiting for the label."""

    __slots__ = ("cloned", "name", "opening")

    def __init__(self, reader: Reader, start: int, name: str, *, cloned: bool) -> None:
        super().__init__(reader, start)
        self.name = name
        self.cloned = cloned
        self.opening = reader.pos - 1

    def resume(self, reader: Reader, term: int) -> int | None:
        """Bring the ends into scope and go on to the next parameter or the body."""
        ends = Ends(self.name, term, reader.span, cloned=self.cloned, computed=True)
        reader.shut(self, ")")
        ends.open(reader)
        reader.ask(_Function(reader, self.start, ends))
        if reader.take(","):
            reader.skip()
            return read_lambda(reader, reader.pos)
        reader.expect(".")
        return None

    def opener(self) -> tuple[int, str]:
        """Tell the bracket of the label."""
        return self.opening, "("
