"""What every device must do, whatever it is: metalcompute's few verbs, on every device that can run here."""

from __future__ import annotations

import numpy as np
import pytest

import hvm4viz as hv
from hvm4viz.device import Device, open_device
from hvm4viz.device.base import Kernel, view
from hvm4viz.device.lookup import kinds
from hvm4viz.errors import CompileFailed, DeviceFailed, DeviceUnavailable
from hvm4viz.kernel_text.source import kernel
from hvm4viz.rules import kernel_folder

GRID = 1000
SOURCE = (
    (kernel_folder() / "dialect.h").read_text(encoding="utf-8")
    + """
ENTRY(add_index)(BUFFER(uint, out, 0), BUFFER(const uint, in, 1), BUFFER(const uint, count, 2), GRID_INDEX) {
  GRID_INDEX_BODY
  if (index >= count[0]) return;
  out[index] = in[index] + index;
}
ENTRY(order)(BUFFER(uint, a, 0), BUFFER(uint, b, 1), BUFFER(uint, c, 2), BUFFER(uint, d, 3), GRID_INDEX) {
  GRID_INDEX_BODY
  if (index >= 1u) return;
  a[0] = 1u; b[0] = 2u; c[0] = 3u; d[0] = 4u;
}
ENTRY(count_all)(BUFFER(Atomic32, total, 0), BUFFER(const uint, count, 1), GRID_INDEX) {
  GRID_INDEX_BODY
  if (index >= count[0]) return;
  atomic_plus(total, 1u);
}
"""
)


def usable() -> list[str]:
    return [info.kind for info in hv.devices() if info.usable]


@pytest.fixture(params=[*usable(), "stand-in"])
def device(request: pytest.FixtureRequest) -> Device:
    if request.param == "stand-in":
        request.getfixturevalue("stand_in")
        return open_device("metal", workers=2)
    return open_device(request.param, workers=2)


def test_buffer_of_a_size_is_zero_filled(device: Device) -> None:
    buffer = device.buffer(40)

    assert len(buffer) >= 40
    assert not view(buffer, np.uint32)[:10].any()


def test_buffer_of_no_size_is_a_buffer(device: Device) -> None:
    assert len(device.buffer(0)) >= 0
    assert len(device.buffer(np.empty(0, np.uint64))) >= 0


@pytest.mark.parametrize("dtype", [np.uint8, np.uint32, np.uint64, np.dtype([("a", "<u4"), ("b", "<u8")])])
def test_buffer_of_an_array_is_a_copy(device: Device, dtype: np.dtype[np.void]) -> None:
    array = np.zeros(5, dtype)
    array.view(np.uint8)[:] = np.arange(array.nbytes) % 251
    kept = array.copy()
    buffer = device.buffer(array)
    array.view(np.uint8)[:] = 0

    assert len(buffer) >= kept.nbytes
    assert bytes(memoryview(buffer)[: kept.nbytes]) == kept.tobytes()  # type: ignore[arg-type]


def test_buffer_is_read_and_written_where_it_lies(device: Device) -> None:
    buffer = device.buffer(16)
    first, second = view(buffer, np.uint32), view(buffer, np.uint8)
    first[1] = 0x01020304

    assert second[4:8].tolist() == [4, 3, 2, 1]
    assert first.data[1] == 0x01020304


def test_buffer_that_cannot_be_had_is_a_failure_of_the_device(device: Device) -> None:
    with pytest.raises(DeviceFailed, match=r"cannot reserve 2,305,843,009,213,693,952 bytes: .*\w") as failed:
        device.buffer(1 << 61)
    assert failed.value.text


@pytest.mark.parametrize("count", [0, 1, 2, 7, GRID])
def test_function_runs_the_whole_grid_and_nothing_behind_it(device: Device, count: int) -> None:
    out, given = device.buffer(4 * GRID), device.buffer(np.full(GRID, 5, np.uint32))
    number = device.buffer(np.array([count], np.uint32))

    device.kernel(SOURCE).function("add_index")(count, out, given, number).wait()

    assert view(out, np.uint32)[:GRID].tolist() == [5 + i if i < count else 0 for i in range(GRID)]


def test_each_thread_runs_once_wherever_a_function_runs(device: Device) -> None:
    compiled = device.kernel(SOURCE)
    ways = compiled.ways("count_all")

    for function in (compiled.function("count_all"), compiled.serial("count_all"), *(way.function for way in ways)):
        total, number = device.buffer(4), device.buffer(np.array([333], np.uint32))
        function(333, total, number).wait()
        assert view(total, np.uint32)[0] == 333


def test_buffers_are_bound_in_order(device: Device) -> None:
    buffers = [device.buffer(4) for _ in range(4)]

    device.kernel(SOURCE).function("order")(1, *buffers).wait()

    assert [int(view(buffer, np.uint32)[0]) for buffer in buffers] == [1, 2, 3, 4]


def test_dispatches_follow_each_other(device: Device) -> None:
    out, other, number = device.buffer(40), device.buffer(40), device.buffer(np.array([10], np.uint32))
    function = device.kernel(SOURCE).function("add_index")

    first = function(10, out, other, number)
    function(10, other, out, number).wait()
    first.wait()

    assert view(other, np.uint32)[:10].tolist() == [2 * i for i in range(10)]


def test_compile_error_carries_the_compilers_words(device: Device) -> None:
    with pytest.raises(CompileFailed, match="no_such_name") as failed:
        device.kernel(SOURCE + "FUNC int f() { return no_such_name; }")
    assert "no_such_name" in failed.value.text


def test_unknown_entry_point_is_named(device: Device) -> None:
    with pytest.raises(CompileFailed, match="'no_entry'"):
        device.kernel(SOURCE).function("no_entry")


def test_last_way_is_the_device_itself(device: Device) -> None:
    ways = device.kernel(SOURCE).ways("order")

    assert ways[-1].device in ("", device.name)


def test_default_machine_is_not_refused(device: Device) -> None:
    device.check(hv.Machine())
    assert device.renew() == device.renew()


def test_a_kernel_offers_its_function_as_the_one_way_unless_it_says_more() -> None:
    cpu = open_device("cpu", workers=1).kernel(SOURCE)

    class Plain(Kernel):
        def function(self, name: str):  # noqa: ANN202
            return cpu.function(name)

    (way,) = Plain().ways("order")
    assert way.expected_ns(100.0, 5) == 100.0
    Plain().serial("order")(0)


def test_the_kernel_compiles(device: Device) -> None:
    device.kernel(kernel().text).function("layout_sizes")


def test_unknown_device_is_refused_with_the_known_ones() -> None:
    with pytest.raises(DeviceUnavailable, match=r"'abacus'.*cpu"):
        open_device("abacus")


def test_auto_says_what_it_chose() -> None:
    assert hv.run("@main = 1").device.name
    assert "cpu" in kinds()
