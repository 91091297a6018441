"""The quick half of the tests, for ``poe check-fast``: each function with its first arguments, nothing that is long.

``pytest -p tests.quick``
"""

from __future__ import annotations

from typing import Final

import pytest

LONG: Final = (
    "tests/bench/",
    "tests/device/test_compiler.py",
    "tests/device/test_cuda_memory.py",
    "tests/device/test_lost.py",
    "tests/differential/",
    "tests/faults/",
    "tests/figures/test_animate.py",
    "tests/figures/test_save.py",
    "tests/kernel_text/test_lint.py",
    "tests/kernel_text/test_near.py",
    "tests/mutation/",
    "tests/notebooks/",
    "tests/sanitizers/",
    "tests/schedules/",
    "tests/sweeps/",
    "tests/test_limits.py",
    "tests/test_nightly.py",
    "tests/test_resume.py",
    "tests/test_tidy.py",
    "tests/trace/test_reader.py",
    "tests/trace/test_verify.py",
    "tests/trace/test_writer.py",
    "tests/widgets/test_hostile_everywhere.py",
    "tests/widgets/test_in_a_browser.py",
)
"""Tests that take seconds each: processes, browsers, compilers, every cut of a file."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep one test of each function."""
    seen: set[str] = set()
    kept: list[pytest.Item] = []
    left: list[pytest.Item] = []
    for item in items:
        function = item.nodeid.partition("[")[0]
        (left if function in seen or function.startswith(LONG) else kept).append(item)
        seen.add(function)
    config.hook.pytest_deselected(items=left)
    items[:] = kept
