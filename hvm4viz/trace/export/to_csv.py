"""One table of a trace as comma-separated values, with a line of names."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hvm4viz.trace.arrow import pa
from hvm4viz.trace.export.tables import batches
from hvm4viz.trace.whole import whole_file

if TYPE_CHECKING:
    from hvm4viz.trace.trace import Trace


def to_csv(trace: Trace, path: str | Path, *, table: str = "deferrals", overwrite: bool = False) -> Path:
    """Write one table; see ``Trace.to_csv``."""
    csv: Any = import_module("pyarrow.csv")
    parts = batches(trace, table)
    first = _plain(next(parts))
    with (
        whole_file(path, overwrite=overwrite) as part,
        part.open("wb") as file,
        csv.CSVWriter(file, first.schema) as writer,
    ):
        writer.write_batch(first)
        for batch in parts:
            writer.write_batch(_plain(batch))
    return Path(path)


def _plain(batch: Any) -> Any:
    """Write dictionaries out: the format has none."""
    columns = [c.cast(pa.string()) if pa.types.is_dictionary(c.type) else c for c in batch.columns]
    return pa.record_batch(columns, names=batch.schema.names)
