"""What a rule gives back, and what it marks (``interactions.md`` 1 and 3).

A rule is a function of the machine, the value ``w`` that was waited for and the nodes that waited: one function a
column of the dispatch tables. It returns ``(VALUE, term)`` when the result is in weak normal form, ``(EVAL, term)``
when it is to be evaluated, and ``(EVAL, term, frame)`` when another frame is to wait for that.
"""

from __future__ import annotations

from typing import Any, Final

from tests.oracle.terms import Term

Step = tuple[Any, ...]
EVAL: Final = False
VALUE: Final = True


class OracleError(Exception):
    """The program did what no rule allows."""


def consume(*terms: Term) -> None:
    """Mark nodes whose fields have gone elsewhere: a traversal on its way to those fields must not follow."""
    for term in terms:
        term.is_consumed = True
