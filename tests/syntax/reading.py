"""Shorthands of the tests of the front end."""

from __future__ import annotations

import pytest

from hvm4viz.errors import ProgramError
from hvm4viz.program import parse
from hvm4viz.syntax.printer import show


def core(term: str, others: str = "") -> str:
    """Print the static term that a source term means, binders named by their depth."""
    book = parse(f"@main = {term}\n{others}").book
    return show(book.words, int(book.roots[book.entry("main")]), book, quoted=True)


def failure(source: str | bytes) -> ProgramError | None:
    """Return the error that a source text gives, if any; anything else that is raised gets through."""
    try:
        parse(source, name="t.hvm4")
    except ProgramError as error:
        return error
    return None


def refused(source: str) -> ProgramError:
    """Return the error that a source text gives."""
    with pytest.raises(ProgramError) as caught:
        parse(source, name="t.hvm4")
    return caught.value
