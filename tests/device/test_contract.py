"""What every device must do, whatever it is: metalcompute's few verbs, on every device that can run here."""

from __future__ import annotations

import numpy as np
import pytest

import hvm4viz as hv
from hvm4viz.device import Device, open_device
from hvm4viz.device.base import kinds, view
from hvm4viz.errors import CompileFailed, DeviceUnavailable

SOURCE = """
typedef unsigned uint;
#define ENTRY(name) extern "C" void name
#define BUFFER(type, name, slot) type* name
#define GRID_INDEX unsigned index
ENTRY(add_index)(BUFFER(unsigned, out, 0), BUFFER(const unsigned, in, 1), GRID_INDEX) {
  out[index] = in[index] + index;
}
"""


def usable() -> list[str]:
    return [info.kind for info in hv.devices() if info.usable]


@pytest.fixture(params=usable())
def device(request: pytest.FixtureRequest) -> Device:
    return open_device(request.param, workers=2)


def test_buffer_of_a_size_is_zero_filled(device: Device) -> None:
    buffer = device.buffer(40)

    assert len(buffer) >= 40
    assert not view(buffer, np.uint32)[:10].any()


def test_buffer_of_an_array_is_a_copy(device: Device) -> None:
    array = np.arange(5, dtype=np.uint64)
    buffer = device.buffer(array)
    array[:] = 0

    assert view(buffer, np.uint64)[:5].tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("count", [0, 1, 2, 7, 1000])
def test_function_runs_the_whole_grid(device: Device, count: int) -> None:
    out, given = device.buffer(4 * 1000), device.buffer(np.full(1000, 5, np.uint32))

    device.kernel(SOURCE).function("add_index")(count, out, given).wait()

    assert view(out, np.uint32)[:1000].tolist() == [5 + i if i < count else 0 for i in range(1000)]


def test_compile_error_carries_the_compilers_words(device: Device) -> None:
    with pytest.raises(CompileFailed, match="no_such_name"):
        device.kernel("int f() { return no_such_name; }")


def test_unknown_entry_point_is_named(device: Device) -> None:
    with pytest.raises(CompileFailed, match="'nothing'"):
        device.kernel(SOURCE).function("nothing")


def test_unknown_device_is_refused_with_the_known_ones() -> None:
    with pytest.raises(DeviceUnavailable, match=r"'abacus'.*cpu"):
        open_device("abacus")


def test_auto_says_what_it_chose() -> None:
    assert hv.run("@main = 1").device.name
    assert "cpu" in kinds()
