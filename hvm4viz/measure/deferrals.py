"""Who waits for whom, and for how long."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hvm4viz.events import REASONS
from hvm4viz.trace.trace import Trace


def deferral_ages(trace: Trace) -> NDArray[np.int64]:
    """Return the age of each deferral that was answered: closing minus opening pass, at least 1.

    Returns
    -------
    ages : ndarray of int64
        By opening pass; those still open when the recording ends are left out.
    """
    ages = trace.deferrals()["age"]
    return ages[ages >= 0]


@dataclass(frozen=True, slots=True)
class AgeCurve:
    """How many of some deferrals were answered within how many passes.

    Attributes
    ----------
    reason : str
        Why these tasks were stopped: ``take``, ``publish`` ... (``events.REASONS``); empty for all deferrals together.
    ages : ndarray of int64, shape (n,)
        The ages that occur, ascending.
    shares : ndarray of float64, shape (n,)
        ``shares[i]`` of all deferrals, those still open among them, were answered within ``ages[i]`` passes.
    count, still_open : int
        Deferrals in all, and those open when the recording ends.
    """

    reason: str
    ages: NDArray[np.int64]
    shares: NDArray[np.float64]
    count: int
    still_open: int

    def within(self, share: float) -> int | None:
        """Return the passes within which at least this share was answered, or None if it never was."""
        at = int(np.searchsorted(self.shares, share - 1e-12))
        return int(self.ages[at]) if at < self.ages.size else None


def deferral_age_curves(trace: Trace) -> list[AgeCurve]:
    """Return the distribution of the ages of deferrals: of all, then by reason if there is more than one.

    Returns
    -------
    curves : list of AgeCurve
        Empty if nothing was deferred; reasons as ``events.REASONS`` orders them.

    Raises
    ------
    TraceError
        If no events were recorded.
    """
    found = trace.deferrals()
    reasons: list[int] = np.unique(found["reason"]).tolist()
    curves = [_age_curve("", found["age"])] if found.size else []
    if len(reasons) > 1:
        curves += [_age_curve(REASONS[code], found["age"][found["reason"] == code]) for code in reasons]
    return curves


def _age_curve(reason: str, age: NDArray[np.int64]) -> AgeCurve:
    ages, counts = np.unique(age[age >= 0], return_counts=True)
    return AgeCurve(reason, ages, np.cumsum(counts) / age.size, age.size, int((age < 0).sum()))


def most_deferring(trace: Trace, count: int = 10) -> NDArray[np.void]:
    """Return the pairs of regions with the most deferrals.

    Returns
    -------
    pairs : ndarray of records (home, owner, count)
        The largest first; equal counts by home and owner.
    """
    pairs = trace.deferral_pairs()
    keys = pairs["home"].astype(np.int64) << 32 | pairs["owner"]
    found, place = np.unique(keys, return_inverse=True)
    out = np.empty(found.size, [("home", "<i8"), ("owner", "<i8"), ("count", "<i8")])
    out["home"], out["owner"] = found >> 32, found & 0xFFFFFFFF
    out["count"] = np.bincount(place, pairs["count"], found.size)
    return out[np.argsort(-out["count"], kind="stable")][:count]


def deferral_matrix(trace: Trace, *, n_bins: int = 512) -> NDArray[np.int64]:
    """Count the deferrals of the whole run by home and owner region.

    Returns
    -------
    counts : ndarray of int64, shape (n, n)
        ``counts[home, owner]``; with more regions than ``n_bins``, sums over equally many regions each.
    """
    pairs = trace.deferral_pairs()
    per_bin = max(-(-trace.n_regions // n_bins), 1)
    size = -(-trace.n_regions // per_bin)
    counts = np.zeros((size, size), np.int64)
    np.add.at(counts, (pairs["home"] // per_bin, pairs["owner"] // per_bin), pairs["count"].astype(np.int64))
    return counts


def most_stopping_pass(trace: Trace) -> int:
    """Return the first of the passes in which most entries were stopped at a slot, or else of the widest ones.

    Returns
    -------
    p : int
        0 for a trace without passes.
    """
    if not trace.n_passes:
        return 0
    stopped = trace.deferral_sizes + trace.contention_sizes
    return int(np.argmax(stopped if stopped.any() else trace.frontier_sizes))
