from __future__ import annotations

import re

import pytest

import hvm4viz
from hvm4viz.kernel_text.source import batch_text, kernel
from hvm4viz.rules import kernel_folder


def test_text_is_the_same_every_time() -> None:
    assert kernel().text == kernel().replace("APP-LAM", kernel().rules[kernel().names.index("APP-LAM")].text).text


def test_every_rule_is_dispatched() -> None:
    text = kernel().text

    for number, rule in enumerate(kernel().rules):
        assert f"step_count(w, {number}u);" in text
        assert f"rule_{rule.file}(w);" in text


def test_every_file_of_the_folder_is_in_the_text() -> None:
    text = kernel().watched("log").text + batch_text()

    for path in (*kernel_folder().glob("*.h"), *kernel_folder().glob("*.metal")):
        assert f"// ==== {path.name}\n" in text


def test_replacing_a_rule_changes_text_and_digest() -> None:
    rule = kernel().rules[0]
    edited = kernel().replace(rule.name, rule.text + "// more\n")

    assert edited.digest != kernel().digest
    assert edited.names == kernel().names


def test_unknown_rule_is_named() -> None:
    with pytest.raises(ValueError, match="'NO-RULE'"):
        kernel().replace("NO-RULE", "")


@pytest.mark.parametrize(
    "word", ["goto", "double", "float", "throw", "try", "new", "virtual", "template", "long long", "std::"]
)
def test_nothing_outside_the_subset_is_used(word: str) -> None:
    text = kernel().text
    text = text[text.index("// ==== term.h") :]  # the dialect says what each compiler has
    code = re.sub(r"//[^\n]*", "", text)

    assert not re.search(rf"(?<!\w){re.escape(word)}(?!\w)", code)


METALS = ("half", "thread", "device", "constant", "kernel", "threadgroup", "vertex", "fragment")


@pytest.mark.parametrize("word", METALS)
def test_no_name_is_a_word_of_metals(word: str) -> None:
    text = kernel().text
    code = re.sub(r"//[^\n]*", "", text[text.index("// ==== term.h") :])

    assert not re.search(rf"(?<![\w.]){word}(?!\w)", code)


def test_metal_is_asked_for_no_stronger_order_than_relaxed() -> None:
    metal, others = kernel().text.split("#elif defined(__CUDACC__)", 1)

    assert set(re.findall(r"memory_order_\w+|__ATOMIC_\w+", metal)) == {"memory_order_relaxed"}
    # visibility="live" is for C++ and CUDA only
    assert set(re.findall(r"memory_order_\w+|__ATOMIC_\w+", others)) == {
        "__ATOMIC_RELAXED",
        "__ATOMIC_ACQUIRE",
        "__ATOMIC_RELEASE",
    }


def test_every_entry_point_guards_its_grid() -> None:
    for name, body in re.findall(r"ENTRY\((\w+)\)\(.*?GRID_INDEX\) \{\n(.*?\n.*?\n)", kernel().text, re.DOTALL):
        assert re.search(r"if \(index >= [^)]*\) return;", body), name


def test_a_rule_is_found_by_name_and_prints_as_its_file() -> None:
    assert kernel().rule("DUP-SUP") is kernel().rule("dup_sup")
    assert str(kernel().rule("DUP-SUP")) == kernel().rule("DUP-SUP").text
    with pytest.raises(ValueError, match=r"'DUP-SUB' \(did you mean DUP-SUP\?\)"):
        kernel().rule("DUP-SUB")


def test_an_edit_changes_one_stretch_and_is_shown_as_a_difference() -> None:
    edited = kernel().edit("OP2-NUM-NUM", "term_num(op2_compute(", "term_num(1u + op2_compute(")
    assert edited.digest != kernel().digest
    assert repr(kernel()) == f"<Kernel of {len(kernel().rules)} rules, as shipped>"
    assert "edited: OP2-NUM-NUM" in repr(edited)
    assert "watched: log" in repr(edited.watched("log"))
    assert kernel().changes() == ""
    lines = edited.changes().splitlines()
    assert lines[:2] == ["--- rules/op2_num_num.h\tshipped", "+++ rules/op2_num_num.h\tedited"]
    assert [line[0] for line in lines[3:] if line[0] in "+-"] == ["-", "+"]
    assert hvm4viz.run("@main = 40 + 1", kernel=edited).text == "42"
    for old in ("not there", "", "w"):
        with pytest.raises(ValueError, match="not once"):
            kernel().edit("OP2-NUM-NUM", old, "x")
    with pytest.raises(ValueError, match="the header lacks words"):
        kernel().edit("OP2-NUM-NUM", "// words:", "// word:")
