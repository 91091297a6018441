"""One table of a trace as a NumPy archive: one array a column, codes as numbers beside arrays of their names."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hvm4viz.trace.arrow import pa
from hvm4viz.trace.export.tables import table as table_of
from hvm4viz.trace.whole import whole_file

if TYPE_CHECKING:
    from hvm4viz.trace.trace import Trace


def to_npz(trace: Trace, path: str | Path, *, table: str = "deferrals", overwrite: bool = False) -> Path:
    """Write one table; see ``Trace.to_npz``."""
    found = table_of(trace, table)
    arrays: dict[str, NDArray[Any]] = {}
    for name in found.schema.names:
        column = found[name].combine_chunks()
        if pa.types.is_dictionary(column.type):
            arrays[name] = column.indices.to_numpy()
            arrays[f"{name}_names"] = np.array(column.dictionary.to_pylist())
        else:
            arrays[name] = column.to_numpy(zero_copy_only=False)
    with whole_file(path, overwrite=overwrite) as part, part.open("wb") as file:
        np.savez(file, allow_pickle=False, **arrays)
    return Path(path)
