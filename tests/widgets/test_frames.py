from __future__ import annotations

import json

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hvm4viz.widgets.frames import PART_BYTES, Frame, pack
from tests.widgets.unpacking import unpack


@given(st.lists(st.sampled_from(["u1", "u2", "u4", "i4", "f4", "f8", "u8"]), max_size=6), st.integers(0, 9))
def test_columns_come_back_as_they_were(codes: list[str], length: int) -> None:
    columns = {f"c{i}": np.arange(i, i + length).astype(code) for i, code in enumerate(codes)}
    frame = pack("some", columns, p=3, text="</script>")
    json.dumps(frame.head)
    assert (frame.head["kind"], frame.head["p"]) == ("some", 3)
    found = unpack(frame)
    assert list(found) == list(columns)
    for name, column in columns.items():
        assert found[name].tolist() == column.tolist()


def test_flags_travel_as_bytes() -> None:
    assert unpack(pack("x", {"flag": np.array([True, False])}))["flag"].tolist() == [1, 0]


def test_big_endian_columns_travel_little_endian() -> None:
    assert unpack(pack("x", {"n": np.array([1, 2], ">u4")}))["n"].tolist() == [1, 2]


def test_a_long_frame_goes_in_parts_that_make_up_the_whole() -> None:
    frame = Frame({}, bytes(range(256)) * (PART_BYTES // 128 + 1))
    parts = list(frame.parts())
    assert frame.n_parts == len(parts) == 3
    assert max(map(len, parts)) == PART_BYTES
    assert b"".join(parts) == frame.data


def test_an_empty_frame_is_one_empty_part() -> None:
    assert list(pack("x", {}).parts()) == [b""]
