from __future__ import annotations

import pytest

import hvm4viz as hv
from hvm4viz.syntax.tokens import name_id


def term(source: str) -> hv.Term:
    result = hv.run(f"@main = {source}").result
    assert result is not None
    return result


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("7", 7),
        ("[1, 2]", [1, 2]),
        ("[]", []),
        ('"héllo"', "héllo"),
        ("'x'", "x"),
        ("3n", 3),
        ("#P{1, [2]}", (1, [2])),
        ('[["a"], "b"]', [["a"], "b"]),
        ("['a', 1]", ["a", 1]),
        ("! &x = [1]; [x, x]", [[1], [1]]),
    ],
)
def test_python_values(source: str, value: object) -> None:
    assert term(source).python() == value


@pytest.mark.parametrize("source", ["λx. x", "&A{1, 2}", "1 <> λx. x", "^n", "λn. 2n+n"])
def test_what_has_no_python_form_says_so(source: str) -> None:
    with pytest.raises(ValueError, match="no Python form"):
        term(source).python()


def test_long_list_needs_no_stack() -> None:
    assert term("[" + ",".join(["1"] * 5000) + "]").python() == [1] * 5000


def test_parts_of_terms() -> None:
    node = term("#Node{&L{1, 2}, λx. x, @gone}")

    assert (node.kind, node.name, node.label) == ("CTR", "Node", None)
    sup, lam, ref = node.children
    assert sup.kind == "SUP"
    assert sup.label == name_id("L")
    assert [child.python() for child in sup.children] == [1, 2]
    assert lam.kind == "LAM"
    assert (ref.kind, ref.name) == ("REF", "gone")
    assert repr(node) == node.text
