from __future__ import annotations

import pytest

from hvm4viz.bench.traces import Size
from hvm4viz.bench.views import Budget, as_markdown, measure_views
from tests.widgets.browser import CHROMIUM


def test_a_budget_is_kept_by_nearly_all_values() -> None:
    kept = Budget("step", "ms", 5, (1.0,) * 98 + (9.0,) * 2)
    missed = Budget("step", "ms", 5, (1.0,) * 90 + (9.0,) * 10)
    assert (kept.middle, kept.p95, kept.is_kept) == (1.0, 1.0, True)
    assert (missed.middle, missed.p95, missed.is_kept) == (1.0, 9.0, False)
    assert as_markdown([kept, missed]).count("(missed)") == 1


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here: on Debian, apt-get install chromium")
def test_every_budget_is_measured() -> None:
    small = Size(passes=40, entries=50, cells=20_000, changed=30)
    found = {each.action: each for each in measure_views(small, small, rounds=3)}
    assert len(found) == 12
    assert all(min(each.values) >= 0 for each in found.values())
    assert found["scrub inside cached passes, messages"].values == (0,)
    assert found["module and style sheet"].is_kept
