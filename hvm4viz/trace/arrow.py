"""pyarrow under one untyped name: it has no type stubs, so nothing about it can be checked."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any, Final

from hvm4viz.errors import TraceError

pa: Final[Any] = import_module("pyarrow")


def read_table(path: Path) -> Any:
    """Read a table from a Parquet, Arrow IPC (or Feather) or CSV file, told apart by its ending.

    Returns
    -------
    table : pyarrow.Table

    Raises
    ------
    TraceError
        If there is no such file, or it is none of these.
    """
    try:
        if path.suffix.lower() == ".parquet":
            return import_module("pyarrow.parquet").read_table(path)
        if path.suffix.lower() == ".csv":
            return import_module("pyarrow.csv").read_csv(path)
        return import_module("pyarrow.feather").read_table(path)
    except FileNotFoundError:
        raise TraceError(f"{path}: the table cannot be read: No such file or directory") from None
    except (OSError, ValueError) as error:  # pyarrow's own errors are ValueErrors
        raise TraceError(f"{path}: the table cannot be read: {error}") from None
