"""What a pass costs, from the first to the last of very many: no device may grow slower as it goes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from hvm4viz.device import Device, open_device
from hvm4viz.events import PassRecord
from hvm4viz.execution import Execution
from hvm4viz.quiet import quiet_request
from hvm4viz.settings import Machine

PASSES: Final = 100_000
RATIO_MAX: Final = 1.2
"""Time of a pass in the last tenth over one in the first: more is drift."""

_PARTS: Final = 10
_ENDLESS: Final = "@f = λ&n. @f(n + 1)\n@main = @f(0)"
_MACHINE: Final = Machine(fuel=1, region_size=1 << 16, fork="off")
"""One interaction a pass: what is measured is what a pass costs, not what it does."""


@dataclass(frozen=True, slots=True)
class PassCosts:
    """Median time of a pass, part by part.

    Attributes
    ----------
    device : str
    is_alone : bool
        Whether the device ran every pass itself; else narrow ones ran where they take the least time.
    passes : int
    total_us, host_us : tuple of float
        Microseconds a pass in each tenth of the run: in all, and in the host without the dispatch.
    mean_us : float
        Mean over all passes, with what is rare and long: what another process took, or opening the device again.
    """

    device: str
    is_alone: bool
    passes: int
    total_us: tuple[float, ...]
    host_us: tuple[float, ...]
    mean_us: float

    @property
    def ratio(self) -> float:
        """Time of a pass in the last tenth over one in the first."""
        return self.total_us[-1] / self.total_us[0]

    @property
    def is_steady(self) -> bool:
        """Whether the last passes take as long as the first, give or take."""
        return self.ratio <= RATIO_MAX

    def __str__(self) -> str:
        """Return it as a few lines."""
        how = "every pass a dispatch" if self.is_alone else "narrow passes where they take the least time"
        tenths = " ".join(f"{value:.1f}" for value in self.total_us)
        host = " ".join(f"{value:.1f}" for value in self.host_us)
        return (
            f"{self.device}, {self.passes:,} passes, {how}\n"
            f"  µs a pass, by tenths   {tenths}\n"
            f"  without the dispatch   {host}\n"
            f"  mean over all          {self.mean_us:.1f}\n"
            f"  last tenth over first  {self.ratio:.2f} (at most {RATIO_MAX})"
        )


def measure_passes(device: str | Device = "auto", *, passes: int = PASSES, alone: bool = True) -> PassCosts:
    """Run very many passes of one interaction each.

    Parameters
    ----------
    device : str or Device
    passes : int
        At least ten.
    alone : bool
        Let the device run every pass itself, however narrow.

    Raises
    ------
    ValueError
        If there are too few passes to compare.
    DeviceError
        If the device cannot run here, or fails.
    """
    if passes < _PARTS:
        raise ValueError(f"passes={passes}: must be {_PARTS} or more, to compare the last tenth with the first")
    opened = open_device(device) if isinstance(device, str) else device
    times: NDArray[np.int64] = np.zeros((passes, 2), np.int64)

    def note(record: PassRecord) -> None:
        times[record.index] = record.device_ns, record.host_ns

    execution = Execution(
        quiet_request(_ENDLESS, device=opened, machine=_MACHINE, max_passes=passes, on_pass=note, alone=alone)
    )
    stop = execution.advance()
    assert stop is not None
    run = execution.finish(stop)
    if stop.status == "failed":
        run.raise_for_status()
    parts = np.array_split(times / 1e3, _PARTS)
    return PassCosts(
        device=opened.name,
        is_alone=alone,
        passes=passes,
        total_us=tuple(float(np.median(part.sum(axis=1))) for part in parts),
        host_us=tuple(float(np.median(part[:, 1])) for part in parts),
        mean_us=float(times.sum(axis=1).mean() / 1e3),
    )
