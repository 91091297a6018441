"""What no test may leave behind."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def interrupts_are_handled_as_before() -> Iterator[None]:
    """Fail a test behind which the stop key would not do what it did: nobody could stop anything any more."""
    before = signal.getsignal(signal.SIGINT)
    yield
    after = signal.getsignal(signal.SIGINT)
    if after is not before:
        signal.signal(signal.SIGINT, before)
    assert after is before
