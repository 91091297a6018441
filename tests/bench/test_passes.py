"""What the measurement of passes says; how long they take is not a matter of tests."""

from __future__ import annotations

import sys

import pytest

from hvm4viz.bench import passes
from hvm4viz.bench.passes import PassCosts, measure_passes
from hvm4viz.cli import main
from hvm4viz.device import open_device
from hvm4viz.device.cpu import CpuDevice
from hvm4viz.errors import DeviceFailed


def costs(first: float, last: float) -> PassCosts:
    return PassCosts("cpu (here)", is_alone=True, passes=100, total_us=(first, last), host_us=(1.0, 2.0), mean_us=3.0)


def test_every_pass_is_counted_in_its_tenth() -> None:
    found = measure_passes("cpu", passes=95)

    assert (found.passes, len(found.total_us), len(found.host_us)) == (95, 10, 10)
    assert all(0 < host < total for host, total in zip(found.host_us, found.total_us, strict=True))
    assert found.mean_us >= min(found.total_us)


def test_too_few_passes_are_refused() -> None:
    with pytest.raises(ValueError, match="passes=9: must be 10 or more"):
        measure_passes("cpu", passes=9)


def test_a_device_that_fails_is_told() -> None:
    class Failing(CpuDevice):
        def renew(self) -> int:
            raise DeviceFailed("it is gone")

    with pytest.raises(DeviceFailed, match="it is gone"):
        measure_passes(Failing(1), passes=20)


@pytest.mark.parametrize(("last", "code"), [(10.0, 0), (12.0, 0), (12.1, 1)])
def test_more_than_a_fifth_is_drift(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, last: float, code: int
) -> None:
    monkeypatch.setattr(sys.modules["hvm4viz.bench.command"], "measure_passes", lambda *_, **__: costs(10.0, last))

    assert main(["bench", "passes", "--device", "cpu"]) == code
    out = capsys.readouterr().out
    assert out.startswith("cpu (here), 100 passes, every pass a dispatch\n")
    assert f"last tenth over first  {last / 10:.2f} (at most 1.2)" in out


def test_one_interaction_a_pass() -> None:
    seen: list[int] = []
    device = open_device("cpu", workers=1)
    real = passes.quiet_request

    def watched(*given: object, **chosen: object) -> object:
        note = chosen["on_pass"]
        chosen["on_pass"] = lambda record: (seen.append(record.interactions), note(record))[1]  # pyright: ignore[reportCallIssue, reportUnknownLambdaType]
        return real(*given, **chosen)  # pyright: ignore[reportArgumentType]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passes, "quiet_request", watched)
        measure_passes(device, passes=50)

    assert max(seen) == 1
