from __future__ import annotations

from typing import Any

import pytest

import hvm4viz as hv
from hvm4viz.preferences import DEFAULTS, preference, preferences, read_option


def test_a_block_ends_where_it_began() -> None:
    with hv.option_context(view="static", progress=False):
        assert preference("view") == "static"
        with hv.option_context(view="none"):
            assert (preference("view"), preference("progress")) == ("none", False)
        assert preference("view") == "static"
    assert preferences() == DEFAULTS


def test_a_choice_stays() -> None:
    try:
        hv.set_options(palette="grey")
        assert preference("palette") == "grey"
    finally:
        hv.set_options(palette="okabe_ito")


def test_runs_follow_what_is_preferred() -> None:
    with hv.option_context(trace_limit=1):
        assert hv.run("@main = #Pair{1, 2}").trace.dropped > 0
        assert hv.run("@main = #Pair{1, 2}", trace_limit="1 MiB").trace.dropped == 0
    with hv.option_context(device="nowhere"), pytest.raises(hv.Hvm4vizError, match="nowhere"):
        hv.run("@main = 1")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"vew": "auto"}, "no option 'vew'; there are: device"),
        ({"view": "wide"}, "view='wide': must be one of 'auto'"),
        ({"progress": 1}, "progress=1"),
        ({"device": 3}, "device=3"),
        ({"trace_limit": "much"}, "size 'much'"),
    ],
)
def test_what_is_no_option_changes_nothing(options: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        hv.set_options(palette="grey", **options)
    assert preferences() == DEFAULTS


def test_options_are_read_from_text() -> None:
    assert read_option("view=static") == {"view": "static"}
    assert read_option("progress=off") == {"progress": False}
    assert read_option("progress=auto") == {"progress": "auto"}
    assert read_option("trace_limit=64 MiB") == {"trace_limit": "64 MiB"}
    with pytest.raises(ValueError, match="write NAME=VALUE"):
        read_option("view")
