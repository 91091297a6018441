"""One table of a trace as a Parquet file."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hvm4viz.trace.export.tables import batches
from hvm4viz.trace.whole import whole_file

if TYPE_CHECKING:
    from hvm4viz.trace.trace import Trace


def to_parquet(trace: Trace, path: str | Path, *, table: str = "deferrals", overwrite: bool = False) -> Path:
    """Write one table; see ``Trace.to_parquet``."""
    parquet: Any = import_module("pyarrow.parquet")
    parts = batches(trace, table)
    first = next(parts)
    with whole_file(path, overwrite=overwrite) as part, parquet.ParquetWriter(part, first.schema) as writer:
        writer.write_batch(first)
        for batch in parts:
            writer.write_batch(batch)
    return Path(path)
