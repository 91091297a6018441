from __future__ import annotations

import base64
import json
import re
import zlib
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import hvm4viz as hv
from hvm4viz.errors import TraceError, TraceTooLarge
from hvm4viz.widgets.page import page
from hvm4viz.widgets.trace_view import TraceView
from tests.widgets.samples import HOSTILE, hostile, seven_cells, shared

TAGS = {"html", "head", "meta", "title", "style", "body", "header", "h1", "main", "noscript", "p", "script"}
ATTRIBUTES = {"lang", "charset", "name", "content", "http-equiv", "id", "type"}


class Made(HTMLParser):
    """What a page is made of."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.scripts: dict[str, str] = {}
        self._in = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}
        self._in = dict(attrs).get("type") or "" if tag == "script" else ""

    def handle_data(self, data: str) -> None:
        if self._in:
            self.scripts[self._in] = self.scripts.get(self._in, "") + data

    def handle_endtag(self, tag: str) -> None:
        del tag
        self._in = ""

    @property
    def data(self) -> dict[str, Any]:
        return json.loads(self.scripts["application/json"])


def test_a_page_holds_every_answer() -> None:
    view = TraceView(shared())
    data = Made(page(view)).data
    whole = list(view.services[0].whole())
    assert [frame["kind"] for frame in data["frames"]] == [frame.head["kind"] for frame in whole]
    for held, frame in zip(data["frames"], whole, strict=True):
        assert zlib.decompress(base64.b64decode(held["data"])) == frame.data
    assert data["state"]["meta"]["offline"]
    assert data["state"]["meta"]["kept"] is None


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_adds_nothing_to_a_page(text: str) -> None:
    made = Made(page(TraceView(hostile(text))))
    assert set(made.tags) <= TAGS
    assert made.tags.count("script") == 2
    assert made.attributes <= ATTRIBUTES
    source = next(frame for frame in made.data["frames"] if frame["kind"] == "source")["head"]
    assert source["files"][0][1].startswith("// ")


def test_an_embedded_page_cannot_end_its_attribute() -> None:
    made = Made(TraceView(hostile('"></iframe><script>alert(1)</script>')).embed())
    assert made.tags == ["iframe"]
    assert made.attributes == {"sandbox", "title", "loading", "style", "srcdoc"}


def test_a_page_too_large_keeps_passes_around_the_playhead_and_says_so() -> None:
    run = hv.run(
        "@many = λ{0: []; λ&n. n <> @many(n - 1)}\n@main = @many(400)", record="full", machine=hv.Machine(fuel=3)
    )
    view = TraceView(run, pass_index=200)
    whole = len(page(view))
    cut = page(view, limit=whole - 4000)
    assert len(cut) <= whole - 4000
    meta = Made(cut).data["state"]["meta"]
    assert meta["kept"][0] <= 200 < meta["kept"][1] < run.trace.n_passes
    assert meta["n_passes"] == run.trace.n_passes
    with pytest.raises(TraceTooLarge, match=r"passes=.* shows fewer"):
        page(view, limit="100 KiB")


def test_chosen_passes_are_kept() -> None:
    view = TraceView(shared())
    data = Made(page(view, passes=(2, 5))).data
    assert data["state"]["meta"]["kept"] == [2, 5]
    assert data["state"]["meta"]["windows"] == [[2, 5]]
    for wrong in ((5, 2), (0, 99), (-1, 2)):
        with pytest.raises(ValueError, match="has passes 0 to 12"):
            page(view, passes=wrong)


def test_a_page_is_written_completely_or_not_at_all(tmp_path: Path) -> None:
    view = TraceView(seven_cells())
    path = view.to_html(tmp_path / "seven.html")
    assert path.read_text(encoding="utf-8").endswith("</html>\n")
    with pytest.raises(TraceError, match=r"missing/seven.html: the page cannot be written here: there is no folder"):
        view.to_html(tmp_path / "missing" / "seven.html")
    assert [each.name for each in tmp_path.iterdir()] == ["seven.html"]


def test_a_page_says_what_it_is_without_scripts() -> None:
    text = page(TraceView(seven_cells()))
    assert re.search(r"<noscript><p>done, 4 passes", text)


def test_two_traces_travel_together() -> None:
    data = Made(page(TraceView(shared(), compare=seven_cells()))).data
    assert {frame["t"] for frame in data["frames"]} == {0, 1}
    assert data["state"]["meta"]["other"]["windows"] == [[0, 4]]
