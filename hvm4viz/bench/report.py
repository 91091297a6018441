"""Measurements as arrays and as text."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hvm4viz import __version__
from hvm4viz.bench.measured import Measured
from hvm4viz.bench.programs import Sample
from hvm4viz.settings import Machine

if TYPE_CHECKING:
    from hvm4viz.device import Device


def as_table(measured: Sequence[Measured], quantity: str) -> tuple[NDArray[np.float64], list[str], list[str]]:
    """Lay one number out by program and protocol.

    Parameters
    ----------
    measured : sequence of Measured
    quantity : str
        A field of ``Measured``.

    Returns
    -------
    values : ndarray of float64, shape (n_programs, n_protocols)
        NaN where nothing was measured.
    programs, protocols : list of str
    """
    programs = list(dict.fromkeys(each.program for each in measured))
    protocols = list(dict.fromkeys(each.protocol for each in measured))
    values = np.full((len(programs), len(protocols)), np.nan)
    for each in measured:
        values[programs.index(each.program), protocols.index(each.protocol)] = getattr(each, quantity)
    return values, programs, protocols


def as_markdown(measured: Sequence[Measured]) -> str:
    """Write passes and milliseconds as a table; programs that no protocol tells from another share the last row.

    Those are the programs that make the same passes under all protocols, without one deferral or contention.
    """
    passes, programs, protocols = as_table(measured, "passes")
    wall, _, _ = as_table(measured, "wall_s")
    stops = as_table(measured, "deferrals")[0] + as_table(measured, "contentions")[0]
    alike = (passes == passes[:, :1]).all(axis=1) & (stops == 0).all(axis=1)
    rows = [["program", *protocols], ["---"] * (len(protocols) + 1)]
    for name, *fields in ((programs[i], *zip(passes[i], wall[i], strict=True)) for i in np.flatnonzero(~alike)):
        rows.append([f"`{name}`", *(f"{count:,.0f}, {_milliseconds(wall_s)}" for count, wall_s in fields)])
    if alike.any():
        names = ", ".join(f"`{programs[i]}`" for i in np.flatnonzero(alike).tolist())
        rows.append([names, *(["the same"] + [""] * (len(protocols) - 1))])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _milliseconds(seconds: float) -> str:
    return f"{1000 * seconds:,.0f}" if seconds >= 0.0995 else f"{1000 * seconds:.3g}"


def provenance(programs: Sequence[Sample], machine: Machine, device: Device, measured: Sequence[Measured]) -> str:
    """Return what identifies a measurement: hash of the programs, settings, device, how many runs, package version."""
    texts = "\0".join(text for sample in programs for _, text in sample.program.files)
    digest = hashlib.sha256(texts.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    runs = sorted({each.runs for each in measured})
    how_many = f"{runs[0]}" if len(runs) == 1 else f"{runs[0]} to {runs[-1]}" if runs else "0"
    return " | ".join(
        [
            f"{len(programs)} program{'s' * (len(programs) != 1)}, program text {digest}",
            f"{machine.blocks:,} blocks of {machine.threads_per_block:,} threads",
            f"regions of {machine.region_size:,} cells",
            f"shard {machine.shard} | fork {machine.fork} | fuel {machine.fuel} | heap {machine.heap}",
            device.name,
            f"medians of {how_many} runs in turn",
            f"hvm4viz {__version__}",
        ]
    )
