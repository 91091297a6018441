"""The stand-in for ``metalcompute``, put in its place for a test."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hvm4viz.device import openings
from tests.device.stand_in.control import Control, reset

STAND_IN = Path(__file__).parent / "stand_in"


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> Iterator[Control]:
    """Let ``device="metal"`` be the stand-in; what it yields says what goes wrong there."""
    monkeypatch.syspath_prepend(str(STAND_IN))
    monkeypatch.delitem(sys.modules, "metalcompute", raising=False)
    openings._openings.cache_clear()
    yield reset()
    reset()
    openings._openings.cache_clear()
    sys.modules.pop("metalcompute", None)
