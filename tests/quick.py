"""The quick half of the tests, for ``poe check-fast``: each function with its first arguments, nothing that is long.

``pytest -p tests.quick``
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

HERE: Final = Path(__file__).parent

LONG: Final = (
    "bench",
    "device/test_compiler.py",
    "device/test_cuda_memory.py",
    "device/test_lost.py",
    "differential",
    "faults",
    "figures/test_animate.py",
    "figures/test_save.py",
    "kernel_text/test_lint.py",
    "kernel_text/test_near.py",
    "mutation",
    "notebooks",
    "sanitizers",
    "schedules",
    "sweeps",
    "test_limits.py",
    "test_nightly.py",
    "test_resume.py",
    "test_tidy.py",
    "trace/test_reader.py",
    "trace/test_verify.py",
    "trace/test_writer.py",
    "widgets/test_hostile_everywhere.py",
    "widgets/test_in_a_browser.py",
)
"""Tests that take seconds each: processes, browsers, compilers, every cut of a file."""


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave long tests out before they are imported."""
    return (
        True if collection_path.is_relative_to(HERE) and collection_path.relative_to(HERE).as_posix() in LONG else None
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep one test of each function."""
    kept: dict[str, pytest.Item] = {}
    for item in items:
        kept.setdefault(item.nodeid.partition("[")[0], item)
    config.hook.pytest_deselected(items=list(set(items).difference(kept.values())))
    items[:] = kept.values()
