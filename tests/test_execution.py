from __future__ import annotations

from pathlib import Path

import pytest

import hvm4viz as hv
from hvm4viz.device.base import Buffer, Kernel
from hvm4viz.device.cpu import CpuDevice
from hvm4viz.errors import DeviceFailed

ENDLESS = "@f = λ&n. @f(n + 1)\n@main = @f(0)"


class Failing(CpuDevice):
    """A device whose dispatches fail, or do nothing, from the Nth on."""

    def __init__(self, after: int, *, is_silent: bool, fails: tuple[str, ...] = ("step", "join")) -> None:
        super().__init__(1)
        self.fails = fails
        self.after = after
        self.is_silent = is_silent

    def kernel(self, source: str):  # noqa: ANN201  # pyright: ignore[reportIncompatibleMethodOverride]
        device, real = self, super().kernel(source)

        class Failed(Kernel):
            def function(self, name: str):  # noqa: ANN202
                function = real.function(name)
                if not name.startswith(device.fails):
                    return function

                def call(count: int, *buffers: Buffer):  # noqa: ANN202
                    device.after -= 1
                    if device.after >= 0:
                        return function(count, *buffers)
                    if device.is_silent:
                        return real.function("layout_sizes")(0, buffers[0])
                    raise DeviceFailed("the device was lost")

                return call

        return Failed()


@pytest.mark.parametrize("after", [1, 2, 3, 8])
@pytest.mark.parametrize("is_silent", [False, True], ids=["lost", "did nothing"])
@pytest.mark.parametrize("fails", [("step", "join"), ("step",)], ids="+".join)
def test_failing_device_is_never_a_result(
    after: int,
    is_silent: bool,  # noqa: FBT001
    fails: tuple[str, ...],
    tmp_path: Path,
) -> None:
    path = tmp_path / "run.hvt"
    device = Failing(after, is_silent=is_silent, fails=fails)

    run = hv.run(ENDLESS, device=device, machine=hv.Machine(fuel=10), max_passes=50, save=path)

    assert run.status == "failed"
    assert (
        ("the device was lost" in run.message)
        or ("status word" in run.message)
        or ("left no word of having run" in run.message)
    )
    assert run.results == []
    assert hv.open_trace(path).n_passes == run.trace.n_passes == run.stats.passes < 50


def test_exception_of_an_observer_keeps_the_trace_file(tmp_path: Path) -> None:
    path = tmp_path / "run.hvt"

    def stumble(record: object) -> None:
        if record.index == 4:  # pyright: ignore[reportAttributeAccessIssue]
            raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        hv.run(ENDLESS, save=path, machine=hv.Machine(fuel=10), on_pass=stumble)
    assert hv.open_trace(path).n_passes == 5


def test_existing_file_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "run.hvt"
    path.write_text("mine")

    with pytest.raises(hv.Hvm4vizError):
        hv.run("@main = 1", save=path)
    assert path.read_text() == "mine"
