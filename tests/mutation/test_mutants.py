"""The mutator: what it changes, what it leaves alone; and that the list of equivalent mutants is up to date."""

from __future__ import annotations

import ast
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest

from tests.mutation.mutants import Mutant, mutants

ROOT = Path(__file__).resolve().parents[2]


def of(tmp_path: Path, source: str) -> list[Mutant]:
    path = tmp_path / "module.py"
    path.write_text(source, encoding="utf-8")
    return list(mutants(tmp_path, path))


@pytest.mark.parametrize(
    ("statement", "changed"),
    [
        ("return a < b", {"return None", "return a <= b"}),
        ("return a is not b", {"return None", "return a is b"}),
        ("return a + 1", {"return None", "return a - 1", "return a + 2", "return a + 0"}),
        ("return a and not b", {"return None", "return a or not b", "return a and b"}),
        ("return a[1:b]", {"return None", "return a[1 + 1:b]", "return a[1:b - 1]", "return a[2:b]", "return a[0:b]"}),
        ("if a: b()", {"if not a:", "pass"}),
        ("while not a: break", {"while a:", "continue"}),
        ("a = True", {"pass", "a = False"}),
        ("raise a", {"pass"}),
        ("b(-a)", {"pass", "b(a)"}),
        ("assert a < 1", set()),
        ("import a", set()),
        ("return f'{a + 1}'", {"return None"}),
    ],
)
def test_every_change_of_a_statement(tmp_path: Path, statement: str, changed: set[str]) -> None:
    found = of(tmp_path, f"def f(a: int = 3, b: int = 4) -> int:\n    '''Text.'''\n    {statement}\n")

    assert {mutant.after for mutant in found} == changed
    assert {mutant.scope for mutant in found} <= {"f"}


def test_the_tree_has_exactly_the_fault_that_is_shown(tmp_path: Path) -> None:
    source = "N: int = 5\n\nclass A:\n\n    def f(self, a):\n        if a < N:\n            return a + 1\n"
    source += "        return a + 1\n"
    whole = ast.unparse(ast.parse(source))

    found = of(tmp_path, source)

    assert [mutant.scope for mutant in found].count("A.f") == len(found) - 2
    assert len({mutant.name for mutant in found}) == len(found)
    for mutant in found:
        text = ast.unparse(mutant.tree())
        changed = [line for line in text.split("\n") if line not in whole.split("\n")]
        assert text != whole
        assert [line.strip() for line in changed] in ([mutant.after.partition("  #")[0]], []) or "N" in mutant.scope


def test_the_list_of_equivalent_mutants_names_mutants_and_says_why() -> None:
    from tests.mutation import run

    existing = {m.name for module in run.MODULES for path in run.files(module) for m in mutants(ROOT, path)}
    for name, reason in run.equivalents().items():
        assert name in existing
        assert len(reason) > 10


def test_branches_are_looked_for_in_the_same_files_with_the_same_tests() -> None:
    from tests.mutation import run

    tasks = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["poe"]["tasks"]
    tests, report = (step["cmd"].split() for step in tasks["branches"]["sequence"])
    tests = [ROOT / word for word in tests if word.startswith("tests/")]
    patterns = report[-1].strip("'").split(",")
    assert all(path.exists() for path in tests)
    assert "--fail-under=100" in report
    for module, (_, names) in run.MODULES.items():
        for name in names:
            assert any((ROOT / name).is_relative_to(path) for path in tests), name
        for path in run.files(module):
            assert any(fnmatch(path.relative_to(ROOT).as_posix(), pattern) for pattern in patterns), path
