"""Executions for the package's own purposes: nothing is shown, nothing is printed, every option has its default."""

from __future__ import annotations

from typing import Any

import numpy as np

from hvm4viz.execution import Request
from hvm4viz.heap import Heap
from hvm4viz.program import Program, parse
from hvm4viz.settings import Machine
from hvm4viz.term import Tag, pack

PASSES_MAX = 1_000_000


def quiet_request(what: str | Heap, **chosen: Any) -> Request:
    """Return a request to run a program's ``@main``, or a heap from its cell 0.

    Parameters
    ----------
    what : str or Heap
        Program text, or a heap that was laid out by hand.
    **chosen
        Fields of ``Request`` that are to differ from the defaults.
    """
    options: dict[str, Any] = {
        "root": 0,
        "stamps": 0,
        "mode": "snf",
        "limit": None,
        "device": "auto",
        "machine": Machine(),
        "max_passes": PASSES_MAX,
        "timeout": None,
        "record": "events",
        "trace_limit": "512 MiB",
        "save": None,
        "workers": None,
        "kernel": None,
        "progress": False,
        "on_pass": None,
        "on_log": _keep_quiet,
    }
    return Request(**{**options, **_subject(what), **chosen})


def _subject(what: str | Heap) -> dict[str, Any]:
    if isinstance(what, Heap):
        return {"program": None, "words": what.words, "entry": "", "on_cpu": False, "stamps": what.stamps}
    program: Program = parse(what)
    main = program.book.entry("main")
    return {
        "program": program,
        "words": np.array([pack(Tag.REF, main, 0)], np.uint64),
        "entry": "main",
        "on_cpu": bool(program.book.reachable_prims(main)),
    }


def _keep_quiet(line: str) -> None:
    """Take a log line: it is in ``Run.log``."""
    del line
