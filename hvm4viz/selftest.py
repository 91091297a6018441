"""Prove a device: replay the golden runs on it, with no pass left to the host, and compare bit for bit."""

from __future__ import annotations

import time

from hvm4viz.device import Device, open_device
from hvm4viz.errors import DeviceError, KernelFault
from hvm4viz.golden import Golden, goldens
from hvm4viz.golden.compare import difference
from hvm4viz.golden.replay import replay
from hvm4viz.golden.report import DIFFERS, FAILED, REFUSED, SAME, Report, Row


def selftest(device: str | Device = "auto", *, workers: int | None = None) -> Report:
    """Replay the golden runs on a device.

    Every pass runs on the device itself, however narrow. Runs whose order of events is the program's are compared bit
    for bit: the heap after every pass and the trace digest; the others by their results.

    Parameters
    ----------
    device : str or Device
        A kind of ``devices()``, or an open device.
    workers : int, optional
        Host threads of the cpu device.

    Returns
    -------
    report : Report

    Raises
    ------
    DeviceUnavailable
        If the device cannot run here, with the reason and the next step.
    """
    opened = open_device(device, workers=workers) if isinstance(device, str) else device
    return Report(opened.name, tuple(_row(golden, opened) for golden in goldens()))


def _row(golden: Golden, device: Device) -> Row:
    begun = time.perf_counter()
    try:
        found = replay(golden, device)
    except (DeviceError, KernelFault) as error:
        return Row(golden, FAILED, 0, 0, time.perf_counter() - begun, str(error))
    except ValueError as error:
        return Row(golden, REFUSED, 0, 0, time.perf_counter() - begun, str(error))
    seconds = time.perf_counter() - begun
    verdict, what = SAME, ""
    if found.run.status == "failed":
        verdict, what = FAILED, found.run.message
    elif what := difference(golden, found, device):
        verdict = DIFFERS
    return Row(golden, verdict, found.expected.passes, found.expected.interactions, seconds, what)
