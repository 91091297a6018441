"""How fast the view of a large trace is: its budgets, measured in a headless browser."""

from __future__ import annotations

import base64
import json
import shutil
import threading
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from hvm4viz.bench.traces import Size, made_up
from hvm4viz.trace.trace import Trace

if TYPE_CHECKING:
    from hvm4viz.widgets.service import TraceService
    from hvm4viz.widgets.trace_view import TraceView

LARGE: Final = Size(passes=10_000, entries=1_000, cells=1_000_000, changed=200)
"""10⁷ events on 10⁶ cells; what changes is as much as the memory of a small machine holds."""

BUSY: Final = Size(passes=12, entries=1_000, cells=1_000_000, changed=105_000)
"""10⁵ changed cells in each pass."""

STEPS: Final = 5
"""How often it goes back and forth over the busy passes: fewer, and one slow step is the 95th percentile."""

_STATE: Final = ("meta", "height", "panels", "palette", "theme", "cache", "pass_index", "selection", "rate")
_SETTLED: Final = (
    "(p) => { const d = document.querySelector('.hv-root').dataset; return d.ready === 'true' && d.pass === p; }"
)


@dataclass(frozen=True, slots=True)
class Budget:
    """One budget: what was done, the bound, and what it took.

    Attributes
    ----------
    action, unit : str
    bound : float
        What the 95th percentile may be.
    values : tuple of float
        Each time it was done.
    """

    action: str
    unit: str
    bound: float
    values: tuple[float, ...]

    @property
    def middle(self) -> float:
        """The median."""
        return median(self.values)

    @property
    def p95(self) -> float:
        """The 95th percentile; of few values, the largest."""
        return float(np.percentile(self.values, 95, method="higher"))

    @property
    def is_kept(self) -> bool:
        """Whether the bound is kept."""
        return self.p95 <= self.bound


def measure_views(large: Size = LARGE, busy: Size = BUSY, *, rounds: int = 30) -> list[Budget]:
    """Measure the budgets of the view on made-up traces.

    Parameters
    ----------
    large, busy : Size
        The trace for everything, and the one for steps that change very much.
    rounds : int
        How often each thing is done.

    Raises
    ------
    OSError
        If Playwright or a Chromium is missing, with what installs it.
    """
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        raise OSError(0, "not installed; run: pip install playwright", "playwright") from None
    if chromium is None:
        raise OSError(0, "not found on the path; on Debian: apt-get install chromium", "chromium")
    found: list[Budget] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--enable-precise-memory-info"]
        )
        found += _large(browser, made_up(large, "full"), rounds)
        found += _busy(browser, made_up(busy, "full"))
        browser.close()
    return found


def _large(browser: Any, trace: Trace, rounds: int) -> Iterator[Budget]:
    from hvm4viz.widgets.base import FRONT_BYTES, asset
    from hvm4viz.widgets.trace_view import TraceView

    begun = time.perf_counter()
    view = TraceView(trace)
    made_s = time.perf_counter() - begun
    rng = np.random.default_rng(1)
    n = trace.n_passes
    with served(browser, view) as page:
        page.wait_for_function("() => window.shownMs")
        yield Budget("first overview", "s", 1.0, (made_s + page.evaluate("() => window.shownMs") / 1000,))
        begun = time.perf_counter()
        page.wait_for_function(_SETTLED, arg="0", timeout=120_000)
        yield Budget("cells of the first pass", "s", 5.0, (time.perf_counter() - begun,))
        trace.deferrals()  # they are put together meanwhile; what needs them is asked for once more
        page.wait_for_timeout(4000)
        draws, asked = _scrub(page, rounds)
        yield Budget("scrub inside cached passes, a frame", "ms", 16, draws)
        yield Budget("scrub inside cached passes, messages", "", 0, (asked,))
        jumps = [_jump(page, int(p)) for p in rng.integers(0, n, rounds)]
        yield Budget("jump to any pass, from the kernel", "ms", 250, tuple(jumps))
        near = [_jump(page, p) for p in _cached(page, view, rounds)]
        yield Budget("jump to a pass that is cached", "ms", 30, tuple(near))
        yield Budget("next deferral", "ms", 10, tuple(_next(page) for _ in range(rounds)))
        yield Budget("search through all events", "s", 1.5, tuple(_search(page, rng) for _ in range(3)))
        used = page.evaluate("() => performance.memory ? performance.memory.usedJSHeapSize / 2 ** 20 : 0")
        yield Budget("memory of the view in the browser", "MiB", 256, (used,))
    yield Budget("memory of Python beside the columns", "%", 15, (100 * _kept(view.services[0]) / trace.nbytes,))
    sent = sum(len(asset(name).encode()) for name in ("trace_view.js", "trace_view.css"))
    yield Budget("module and style sheet", "KiB", FRONT_BYTES / 1024, (sent / 1024,))


def _busy(browser: Any, trace: Trace) -> Iterator[Budget]:
    from hvm4viz.widgets.trace_view import TraceView

    with served(browser, TraceView(trace)) as page:
        page.wait_for_function(_SETTLED, arg="0", timeout=120_000)
        steps: list[float] = []
        for p in range(1, trace.n_passes):
            page.keyboard.press("ArrowRight")
            page.wait_for_function(_SETTLED, arg=str(p), timeout=30_000)
            page.wait_for_timeout(500)  # the windows of the next passes come in
        there_and_back = (*range(trace.n_passes - 3, 0, -1), *range(2, trace.n_passes - 1))
        for p in (trace.n_passes - 2, *there_and_back * STEPS):
            page.keyboard.press("ArrowLeft" if int(page.evaluate(_told("pass"))) > p else "ArrowRight")
            page.wait_for_function(_SETTLED, arg=str(p), timeout=30_000)
            page.wait_for_timeout(30)
            steps.append(float(page.evaluate(_told("step"))))
    yield Budget("one step with 100,000 changed cells", "ms", 5, tuple(steps))


def _told(name: str) -> str:
    return f"() => document.querySelector('.hv-root').dataset.{name}"


def _scrub(page: Any, rounds: int) -> tuple[tuple[float, ...], int]:
    """Step to and fro inside what is cached; return the time of each frame, and the messages that were sent."""
    for key in ("ArrowRight", "ArrowRight", "ArrowLeft", "ArrowLeft"):
        page.keyboard.press(key)
    page.wait_for_timeout(2500)  # what is ahead has come in
    before = int(page.evaluate(_told("asked")))
    draws: list[float] = []
    for i in range(2 * rounds):
        page.keyboard.press("ArrowRight" if i < rounds else "ArrowLeft")
        page.wait_for_timeout(20)
        draws.append(float(page.evaluate(_told("draw"))))
    return tuple(draws), int(page.evaluate(_told("asked"))) - before


def _jump(page: Any, p: int) -> float:
    """Go to a pass; return the milliseconds until its events and cells are drawn."""
    return page.evaluate(
        """async (p) => {
            const root = document.querySelector('.hv-root'), slider = root.querySelector('.hv-slider');
            const begun = performance.now();
            slider.value = String(p);
            slider.dispatchEvent(new Event('input'));
            while (performance.now() - begun < 20000) {
                await new Promise((resolve) => setTimeout(resolve));
                const { pass, ready, complete } = root.dataset;
                if (pass === String(p) && ready === 'true' && complete === 'true') break;
            }
            return performance.now() - begun;
        }""",
        p,
    )


def _cached(page: Any, view: TraceView, rounds: int) -> list[int]:
    """Return passes, in turn, of the window that the playhead is in."""
    page.wait_for_timeout(2500)  # all of it has come in
    here = int(page.evaluate(_told("pass")))
    windows = view.services[0].windows(0, view.trace.n_passes)
    lo, hi = next((lo, hi) for lo, hi in windows if lo <= here < hi or hi == view.trace.n_passes)
    return [lo + (7 * i) % max(hi - lo, 1) for i in range(rounds)]


def _next(page: Any) -> float:
    return page.evaluate(
        """async () => {
            const root = document.querySelector('.hv-root'), before = root.dataset.pass + root.dataset.selection;
            const begun = performance.now();
            root.focus();
            root.dispatchEvent(new KeyboardEvent('keydown', { key: '.', bubbles: true }));
            const done = performance.now() - begun;
            while (root.dataset.pass + root.dataset.selection === before && performance.now() - begun < 3000) {
                await new Promise((resolve) => setTimeout(resolve));
            }
            return done;
        }"""
    )


def _search(page: Any, rng: np.random.Generator) -> float:
    """Look for something that is not there: all events have to be looked through."""
    page.fill(".hv-field", f"interactions:>{int(rng.integers(1 << 20, 1 << 30))}")
    begun = time.perf_counter()
    page.press(".hv-field", "Enter")
    page.wait_for_function("() => document.querySelector('.hv-root').dataset.search === 'done'", timeout=60_000)
    return time.perf_counter() - begun


def _kept(service: TraceService) -> int:
    """Return the bytes of the arrays that a service has worked out."""
    times = service.history
    arrays = [times.cells, times.seen, times.done, times.role, times.roled]
    arrays += [*service.wait_times, *service.maps.arrays()]
    return sum(array.nbytes for array in arrays)


@contextmanager
def served(browser: Any, view: TraceView) -> Generator[Any]:
    """Open a page with a view whose questions come here."""
    from hvm4viz.widgets.base import asset

    state: dict[str, Any] = {name: getattr(view, name) for name in _STATE}
    state |= {"overview_heads": view.first_heads, "bookmarks": [], "query": ""}
    state["overviews"] = [base64.b64encode(raw).decode() for raw in view.first_data]
    script = f"{asset('trace_view.js')}\n{(Path(__file__).parent / 'live.js').read_text(encoding='utf-8')}"
    page_text = (
        f"<!doctype html><meta charset=utf-8><style>{asset('trace_view.css')}</style>"
        f"<div id=hv-here></div><script type=module>{script}</script>"
    )

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002  (its name in the base class)
            """Say nothing."""

        def _send(self, body: bytes, kind: str) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            with suppress(ConnectionError):  # the page may be closed by now
                self.end_headers()
                self.wfile.write(body)

        def do_GET(self) -> None:
            """Send the page, or the state of the view."""
            if self.path == "/state":
                self._send(json.dumps(state).encode(), "application/json")
            else:
                self._send(page_text.encode() if self.path == "/" else b"", "text/html; charset=utf-8")

        def do_POST(self) -> None:
            """Answer a question."""
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            head, data = view.answer(asked)
            told = json.dumps(head).encode()
            self._send(len(told).to_bytes(4, "little") + told + data, "application/octet-stream")

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    page = browser.new_page(viewport={"width": 1200, "height": 760})
    try:
        page.goto(f"http://127.0.0.1:{server.server_port}/")
        page.wait_for_selector(".hv-root")
        page.focus(".hv-root")
        yield page
    finally:
        page.close()
        server.shutdown()
        server.server_close()


def as_markdown(found: Sequence[Budget]) -> str:
    """Write the budgets as a table."""
    lines = ["| action | median | p95 | budget |", "| --- | ---: | ---: | ---: |"]
    for each in found:
        unit = f" {each.unit}".rstrip()
        kept = "" if each.is_kept else " (missed)"
        lines.append(
            f"| {each.action} | {each.middle:.3g}{unit} | {each.p95:.3g}{unit} | {each.bound:.3g}{unit}{kept} |"
        )
    return "\n".join(lines)
