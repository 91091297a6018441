"""Functions of a preprocessed C text, and who calls whom: enough of a parser for the kernel's subset."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

_HEAD = re.compile(r"(?P<head>[^;{}()]*?)\b(?P<name>\w+|operator\s*\S+?)\s*\(")
_KEYWORDS = {"if", "for", "while", "switch", "return", "sizeof", "do", "else", "case"}


@dataclass(frozen=True, slots=True)
class Function:
    """A function with a body.

    Attributes
    ----------
    name, head, parameters, body : str
        ``head`` is what stands in front of the name.
    start : int
        Offset of the body, behind its brace.
    """

    name: str
    head: str
    parameters: str
    body: str
    start: int


def closing(text: str, start: int) -> int:
    """Return the offset of the bracket that closes the one at ``start``, or the end of the text."""
    pairs = {"(": ")", "{": "}", "[": "]"}
    opening, depth = text[start], 0
    for found in re.finditer(r"[" + re.escape(opening + pairs[opening]) + r"]", text[start:]):
        depth += 1 if found[0] == opening else -1
        if depth == 0:
            return start + found.start()
    return len(text)


def functions(text: str) -> list[Function]:
    """Return the functions of a text, those inside structs too, in order."""
    out: list[Function] = []
    at = 0
    while at < len(text):
        brace = text.find("{", at)
        if brace < 0:
            return out
        begin = max(text.rfind(c, at, brace) for c in ";}") + 1
        piece = text[max(begin, at) : brace]
        match = _HEAD.search(piece)
        if match is None or match["name"] in _KEYWORDS:
            is_scope = re.search(r"\b(?:struct|class|namespace)\b", piece) is not None
            at = brace + 1 if is_scope else closing(text, brace) + 1
            continue
        end = closing(text, brace)
        parameters = piece[match.end() : closing(piece, match.end() - 1)]
        out.append(Function(match["name"], match["head"], parameters, text[brace + 1 : end], brace + 1))
        at = end + 1
    return out


def outside(text: str) -> Iterator[tuple[int, str]]:
    """Yield offset and text of each statement outside braces."""
    at = 0
    while at < len(text):
        end = re.compile(r"[;{]").search(text, at)
        if end is None:
            return
        stop = end.start()
        if end[0] == "{":
            is_list = "=" in text[at:stop]
            shut = closing(text, stop) + 1
            if not is_list:
                at = shut
                if re.match(r"\s*;", text[at:]):
                    at = text.index(";", at) + 1
                continue
            stop = text.find(";", shut)
            stop = len(text) if stop < 0 else stop
        statement = " ".join(text[at:stop].split())
        yield at + len(text[at:stop]) - len(text[at:stop].lstrip()), statement
        at = stop + 1


def called(function: Function, names: set[str]) -> set[str]:
    """Return which of the functions a function calls."""
    return {name for name in re.findall(r"\b(\w+)\s*\(", function.body) if name in names}


def cycles(graph: Mapping[str, set[str]]) -> list[tuple[str, ...]]:
    """Return a ring of calls for each function that comes back to itself, each ring once."""
    found: dict[frozenset[str], tuple[str, ...]] = {}
    for start in sorted(graph):
        trail = _way_back(graph, start)
        if trail and frozenset(trail) not in found:
            found[frozenset(trail)] = trail
    return list(found.values())


def _way_back(graph: Mapping[str, set[str]], start: str) -> tuple[str, ...]:
    """Return the shortest ring of calls through ``start``, or nothing."""
    before: dict[str, str] = {}
    front = [start]
    while front:
        reached: list[str] = []
        for name in front:
            for other in sorted(graph.get(name, ())):
                if other == start:
                    ring = [name]
                    while ring[-1] != start:
                        ring.append(before[ring[-1]])
                    return tuple(reversed(ring))
                if other not in before:
                    before[other] = name
                    reached.append(other)
        front = reached
    return ()
