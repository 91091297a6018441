"""A view in a real browser: what it says of itself in ``data-*`` attributes, and all that it complains about."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, Playwright

from hvm4viz.widgets.trace_view import TraceView

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
ARGUMENTS = ["--no-sandbox"]
ROOT = ".hv-root"


def launch(playwright: Playwright) -> Browser:
    return playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)


class Shown:
    """One view on a page."""

    def __init__(self, page: Page, root: str = ROOT) -> None:
        self.page = page
        self.root = root
        self.complaints: list[str] = []
        self.requests: list[str] = []
        page.on("console", lambda message: self.complaints.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: self.complaints.append(f"{error.message}\n{error.stack}"))
        page.on("dialog", lambda dialog: self.complaints.append(f"dialog: {dialog.message}"))
        page.on("request", lambda request: self.requests.append(request.url))

    def ready(self) -> Shown:
        self.page.wait_for_selector(f"{self.root}[data-ready=true]", timeout=20_000)
        return self

    def state(self, name: str) -> str:
        """Return one fact that the view tells of itself."""
        return str(
            self.page.evaluate("([root, name]) => document.querySelector(root).dataset[name]", [self.root, name])
        )

    def wait(self, **facts: Any) -> Shown:
        """Wait until the view says so."""
        wanted = {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in facts.items()}
        try:
            self.page.wait_for_function(
                """([root, wanted]) => {
                    const told = document.querySelector(root)?.dataset ?? {};
                    return Object.entries(wanted).every(([name, value]) => told[name] === value);
                }""",
                arg=[self.root, wanted],
                timeout=10_000,
            )
        except Exception as error:
            told = {name: self.state(name) for name in wanted}
            raise AssertionError(f"wanted {wanted}, the view says {told}; {self.complaints}") from error
        return self

    def changed(self, name: str, before: str) -> str:
        """Wait until a fact is no longer what it was; return what it is."""
        self.page.wait_for_function(
            "([root, name, before]) => document.querySelector(root).dataset[name] !== before",
            arg=[self.root, name, before],
            timeout=5_000,
        )
        return self.state(name)

    def press(self, *keys: str) -> Shown:
        """Press keys while the view has the focus."""
        for key in keys:
            self.page.focus(self.root)
            self.page.keyboard.press(key)
        return self

    def settle(self) -> Shown:
        """Wait until what was asked for is drawn: the view draws in the next frame."""
        self.page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        return self

    def text(self, selector: str) -> str:
        self.settle()
        return self.page.inner_text(f"{self.root} {selector}")

    def search(self, query: str) -> Shown:
        self.page.fill(f"{self.root} .hv-field", query)
        self.page.press(f"{self.root} .hv-field", "Enter")
        return self.wait(query=query, search="done")

    def rows(self, selector: str) -> list[list[str]]:
        """Return all rows of a list that draws only those in sight."""
        self.settle()
        found: dict[int, list[str]] = {}
        lists = f"{self.root} {selector}"
        many = int(self.page.get_attribute(lists, "data-rows") or 0)
        top = 0
        step = self.page.evaluate("(s) => Math.max(document.querySelector(s).clientHeight - 72, 24)", lists)
        while len(found) < many:
            before = len(found)
            self.page.evaluate("([s, top]) => { document.querySelector(s).scrollTop = top; }", [lists, top])
            self.settle()
            rows = self.page.evaluate(
                """(s) => [...document.querySelectorAll(`${s} .hv-rows .hv-row`)].filter((row) => !row.hidden)
                    .map((row) => [Number(row.dataset.index), [...row.children].map((cell) => cell.textContent)])""",
                lists,
            )
            found |= dict(rows)
            top += step
            assert len(found) > before or top < many * 24 + 2 * step, "rows are missing"
        return [found[i] for i in sorted(found)]


@contextmanager
def offline(browser: Browser, view: TraceView, folder: Path, **options: Any) -> Iterator[Shown]:
    """Open the page of a view with the network off; whatever it complains of or asks for is a failure."""
    path = view.to_html(folder / "view.html")
    context = browser.new_context(offline=True, **{"viewport": {"width": 1200, "height": 800}, **options})
    try:
        shown = Shown(context.new_page())
        shown.page.goto(path.as_uri())
        yield shown.ready()
        assert shown.complaints == []
        assert [url for url in shown.requests if not url.startswith(("file:", "blob:", "data:"))] == []
    finally:
        context.close()
