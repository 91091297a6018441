"""Tables from files, told apart by their endings."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import csv, feather, parquet

from hvm4viz.errors import TraceError
from hvm4viz.trace.arrow import read_table


@pytest.mark.parametrize("ending", [".parquet", ".PARQUET", ".csv", ".feather", ".arrow"])
def test_a_table_is_read_whatever_file_it_is_in(ending: str, tmp_path: Path) -> None:
    table, path = pa.table({"a": [1, 2], "b": ["x", "y"]}), tmp_path / f"table{ending}"
    if ending.lower() == ".parquet":
        parquet.write_table(table, path)
    elif ending == ".csv":
        csv.write_csv(table, path)
    else:
        feather.write_feather(table, path)

    assert read_table(path).equals(table)


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".feather"])
def test_a_file_that_is_none_or_another_one_is_told(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"table{ending}"
    with pytest.raises(TraceError, match="the table cannot be read"):
        read_table(path)
    path.write_bytes(b"")
    with pytest.raises(TraceError, match="the table cannot be read"):
        read_table(path)
