from __future__ import annotations

import pytest

from hvm4viz.rules import parse_rule, rule_table

GOOD = """// a
// ---- OP2-NEW
// b
//
// redex:   OPL | NUM
// when:    true
// words:   2 + slot
// writes:  nothing
// example: 1 + 1  =>  2
FUNC void rule_op2_new(THREAD Worker* w) {
}
"""


def test_header_is_read() -> None:
    rule = parse_rule("op2_new", GOOD)

    assert (rule.name, rule.frames, rule.values, rule.when) == ("OP2-NEW", ("OPL",), ("NUM",), "true")
    assert (rule.words, rule.takes_closure, rule.examples) == ("2 + slot", False, (("1 + 1", "2"),))


@pytest.mark.parametrize(
    ("without", "words"),
    [
        ("// redex:   OPL | NUM\n", "redex"),
        ("// example: 1 + 1  =>  2\n", "example"),
        ("// ---- OP2-NEW\n", "sequent"),
        ("rule_op2_new", "function rule_op2_new"),
    ],
)
def test_incomplete_header_says_what_is_missing(without: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        parse_rule("op2_new", GOOD.replace(without, ""))


def test_rule_is_named_after_its_file() -> None:
    with pytest.raises(ValueError, match="OP2-NEW"):
        parse_rule("op2_old", GOOD.replace("rule_op2_new", "rule_op2_old"))


def test_table_is_sorted_by_file_and_names_are_unique() -> None:
    rules = rule_table()

    assert [rule.file for rule in rules] == sorted(rule.file for rule in rules)
    assert len({rule.name for rule in rules}) == len(rules) > 80
