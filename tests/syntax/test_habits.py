"""Mistakes of a file or its lines: told by what they are, and only where they are it."""

from __future__ import annotations

import time

import pytest

from hvm4viz.errors import HvmSyntaxError
from hvm4viz.program import parse
from hvm4viz.syntax.habits import file_habit

COMMENT = "a comment starts with //, not with #"


def refused(source: str | bytes) -> HvmSyntaxError:
    with pytest.raises(HvmSyntaxError) as caught:
        parse(source)
    return caught.value


def hint(source: str | bytes) -> str:
    return refused(source).hint


@pytest.mark.parametrize(
    "source",
    [
        "# note\n@main = 1",
        "#note\n@main = 1",
        "#!/usr/bin/env hvm4viz\n@main = 1",
        "@main = 1\n  # note\n",
        "@main = 1 # note",
        "@main =\n  ! x = 1;\n  # note\n  x",
        "@main =\n  # note\n\n\n  1",
        "@main =\n  # the note\n  1",
        "@main = [1, # first one\n 2]",
        "@main = (1\n# plus\n + 2)",
        "@main = λ{\n  # zero\n  0n: 1}",
        "@main =\n# the note\n1",
        "@main =\n# note\n1",
        "@main = # note\n 1",
        "@main = # 5",
        "@main = 1\n#note on",
        "\n@main =\n  # the note\n  1",
    ],
)
def test_a_comment_with_a_number_sign_is_told_at_the_sign(source: str) -> None:
    found = refused(source)
    assert found.hint == COMMENT
    assert found.span is not None
    assert found.span.start == source.index("#")
    assert "unexpected '#'" in str(found)


@pytest.mark.parametrize(
    "source",
    [
        "@main = @f #Leaf",
        "@main = @f #A{1}",
        "@main = 1\n  @f #Leaf",
        "@a = # Leaf\n@b = 1\n  )",
        "@main =\n1#Leaf",
        "@main = #Pair{1, 2",
        "@main = #Pair{1 2 3 )",
        '@main = ["# no comment" 1 )',
        "@main = ['#' 1 )",
        "@main = 1 // # a comment\n 2",
        "@main = [#A, #B] 3",
        "@main = x",
    ],
)
def test_constructors_and_strings_are_no_comments(source: str) -> None:
    assert hint(source) != COMMENT


@pytest.mark.parametrize("name", ["print", "println", "putStrLn", "echo", "debug", "show", "trace", "logs", "Print"])
def test_who_wants_to_print_is_told_how(name: str) -> None:
    assert hint(f"@main = %{name}(1)").startswith('to print, write %log("text"); what @main gives is printed anyway')
    assert hint(f"@main = %my_{name}(1)").startswith("in Python, @hv.primitive(")


def test_a_file_that_is_not_utf_8_is_told() -> None:
    assert "UTF-16" in hint("@main = 1".encode("utf-16"))
    assert "UTF-16" in hint("@main = 1".encode("utf-16-be").join([b"\xfe\xff", b""]))
    assert "save the file as UTF-8" in hint("@main = é".encode("latin-1"))
    assert "save the file as UTF-8" in hint("@main = 1 − 2")
    assert "UTF-8" not in hint("@main = λ")
    assert parse('@main = "é"'.encode("latin-1")).names == ("main",), "a byte that is no UTF-8 stands for itself"


@pytest.mark.parametrize(
    ("sign", "says"),
    [
        ("\x01", "control character U+0001 here: remove it; is this a text file?"),
        ("\x1b", "control character U+001B here: remove it; is this a text file?"),
        ("\xa0", "invisible character U+00A0 here: remove it, or write a plain blank"),
        ("\u202e", "invisible character U+202E here: remove it, or write a plain blank"),
    ],
)
def test_what_nobody_sees_is_told_by_its_number(sign: str, says: str) -> None:
    assert hint(f"@main = 1 + {sign}2") == says
    assert sign not in str(refused(f"@main = 1 + {sign}2"))
    assert hint(f"{sign}@main = 1") == says


def test_long_texts_are_looked_at_once() -> None:
    text = "@main = " + " # " * 1_000_000 + "\n" * 1_000_000 + "x"

    start = time.process_time()
    assert file_habit(text, len(text) - 1) == COMMENT
    assert file_habit("a" * 3_000_000, 2_999_999) == ""
    assert time.process_time() - start < 20  # not once for each line: hours
