"""Places and their pictures."""

from __future__ import annotations

import pytest

from hvm4viz.errors import Source, Span
from hvm4viz.syntax.span import excerpt
from tests.syntax.reading import refused


def marked(text: str, start: int, end: int) -> list[str]:
    return excerpt(Span(Source("t", text), start, end)).split("\n")


def test_message_has_place_cause_line_caret_and_notes() -> None:
    error = refused("@a = 1\n@main = [1, (2 + 3]")

    assert str(error).split("\n") == [
        "t.hvm4:2:19: unexpected ']'",
        "@main = [1, (2 + 3]",
        "                  ^",
        "- expected: )",
        "- detected: ']'",
        "- hint: the '(' at 2:13 is still open",
    ]
    assert (error.line, error.col) == (2, 19)
    assert error.hint == "the '(' at 2:13 is still open"


def test_columns_count_characters() -> None:
    # D10
    error = refused("@main = λé. 12345 λ")

    assert error.col == 10


def test_caret_marks_the_whole_name() -> None:
    assert refused("@main = λa. [a, bcd]").args[0].split("\n")[2] == " " * 16 + "^^^"


@pytest.mark.parametrize(
    ("text", "start", "end", "line", "caret"),
    [
        ("abc", 1, 2, "abc", " ^"),
        ("abc", 3, 3, "abc", "   ^"),
        ("", 0, 0, "", "^"),
        ("a\nb c\nd", 4, 5, "b c", "  ^"),
        ("a\r\nb\r\n", 3, 4, "b", "^"),
        ("a\n", 2, 2, "", "^"),
        ("\tx\ty", 3, 4, "\tx\ty", "\t \t^"),
        ("漢字x", 2, 3, "漢字x", "    ^"),
        ("漢字x", 0, 2, "漢字x", "^^^^"),
        ("e\u0301x", 2, 3, "e\u0301x", " ^"),
        ("a\x1b[31mb", 6, 7, "a�[31mb", "      ^"),
        ("\u202eab", 1, 2, "�ab", " ^"),
        ("\ud800a", 1, 2, "�a", " ^"),
        ("ab\ncd", 0, 5, "ab", "^^"),
        ("\nab", 0, 0, "", "^"),
        ("e\u0301x", 0, 3, "e\u0301x", "^^"),
    ],
)
def test_caret_stands_below_the_place(text: str, start: int, end: int, line: str, caret: str) -> None:
    assert marked(text, start, end) == [line, caret]


def test_long_lines_are_cut_around_the_caret() -> None:
    text = "x" * 100_000

    line, caret = marked(text, 50_000, 50_001)

    assert len(line) < 120
    assert line.startswith("…")
    assert line.endswith("…")
    assert line[caret.index("^")] == "x"
    assert len(caret) <= len(line)
    assert marked(text, 0, 100_000)[1] == "^" * 100


@pytest.mark.parametrize(
    ("length", "at", "first", "last"),
    [
        (100, 99, 0, 100),
        (101, 0, 0, 100),
        (101, 60, 0, 100),
        (101, 61, 1, 101),
        (200, 100, 40, 140),
        (200, 199, 139, 200),
    ],
)
def test_a_line_of_more_than_100_characters_shows_60_before_the_caret(
    length: int, at: int, first: int, last: int
) -> None:
    line = "".join(chr(ord("0") + index % 75) for index in range(length))

    shown, caret = marked("\n" * 200 + line, 200 + at, 201 + at)

    assert shown == "…" * (first > 0) + line[first:last] + "…" * (last < length)
    assert shown[caret.index("^")] == line[at]


def test_place_names_the_file_line_and_column() -> None:
    source = Source("<cell>", "ab\ncd")

    assert str(Span(source, 4, 5)) == "cell:2:2"
    assert Span(source, 4, 5).text == "d"
    assert Span(source, 3, 3).file == "<cell>"
    assert [Span(source, at, at).line for at in range(6)] == [1, 1, 1, 2, 2, 2]


def test_end_of_file_points_behind_the_last_text() -> None:
    error = refused("@main = (1\n\n\n")

    assert (error.line, error.col) == (1, 11)
    assert "EOF" in str(error)
    assert "the '(' at 1:9 is still open" in error.hint
