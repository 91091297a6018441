"""The cells around a cell as GraphML, for graph tools."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hvm4viz.trace.whole import whole_file

if TYPE_CHECKING:
    from hvm4viz.trace.trace import Trace


def to_graphml(trace: Trace, path: str | Path, p: int, *, overwrite: bool = False, **options: Any) -> Path:
    """Write the graph of a pass; see ``Trace.to_graphml``."""
    write: Any = import_module("networkx").write_graphml_xml
    graph = trace.graph(p, **options)
    for _, facts in graph.nodes(data=True):
        facts["word"] = f"{facts['word']:#018x}"  # the format's numbers are signed
        for name, value in facts.items():
            if isinstance(value, str):
                facts[name] = _allowed(value)
    with whole_file(path, overwrite=overwrite) as part:
        write(graph, part)
    return Path(path)


def _allowed(text: str) -> str:
    """Replace what XML cannot hold."""
    return "".join(c if c in "\t\n\r" or c.isprintable() else "?" for c in text)
