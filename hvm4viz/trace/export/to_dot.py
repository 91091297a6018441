"""The cells around a cell as Graphviz draws them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hvm4viz.trace.whole import write_whole

if TYPE_CHECKING:
    from hvm4viz.trace.trace import Trace


def to_dot(trace: Trace, path: str | Path, p: int, *, overwrite: bool = False, **options: Any) -> Path:
    """Write the graph of a pass; see ``Trace.to_dot``."""
    graph = trace.graph(p, **options)
    return write_whole(path, "\n".join(_lines(graph)) + "\n", overwrite=overwrite)


def _lines(graph: Any) -> Iterator[str]:
    yield f'digraph "pass {graph.graph["pass_index"]}" {{'
    yield '  node [shape=box, fontname="monospace", fontsize=10];'
    yield '  edge [fontname="monospace", fontsize=8];'
    for cell, facts in sorted(graph.nodes(data=True)):
        text = f"{cell}: {facts['text']}" + (f"\n+ {facts['hidden']} more" if facts["hidden"] else "")
        looks = [f"label={quoted(text)}"]
        if facts["is_frame"]:
            looks.append("style=dashed")
        if facts["is_sub"]:
            looks.append("peripheries=2")
        if cell == graph.graph["root"]:
            looks.append("penwidth=2")
        yield f"  {cell} [{', '.join(looks)}];"
    for cell, target, field in sorted(graph.edges(data="field")):
        yield f"  {cell} -> {target} [label={quoted(field)}];"
    yield "}"


def quoted(text: str) -> str:
    """Write a text as DOT does: nothing in it is markup, an escape or the end of it."""
    escaped = text.encode("utf-8", "backslashreplace").decode().replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else "\\n" if c == "\n" else "?" for c in escaped) + '"'
