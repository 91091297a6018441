from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hvm4viz.widgets.escape import html_text, line_text, terminal_text

HOSTILE = [
    "</pre><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "\" onload='alert(1)",
    "javascript:alert(1)",
    "<svg><script>alert(1)</script></svg>",
    "{{7*7}} ${7*7} <%= 7*7 %>",
    "&lt;b&gt; &amp; &#60;",
    "\0",
    "\x1b[31mred\x1b[0m\x1b]0;title\x07",
    "\u202egnp.exe",
    "\u2066hidden\u2069",
    "\u2028\u2029",
    "\ud800",
    "a" * (1 << 20),
    "<" * 10_000,
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_html_of_hostile_text_opens_no_tag_and_ends_no_attribute(text: str) -> None:
    shown = html_text(text)
    assert not set("<>\"'") & set(shown)
    shown.encode()


@given(st.text())
def test_html_escapes_whatever_is_given(text: str) -> None:
    assert not set("<>\"'") & set(html_text(text))


@given(st.text(st.characters(categories=["Cc", "Cf", "Cs", "L", "Zl", "Zp"])))
def test_a_terminal_sees_no_control_and_no_change_of_direction(text: str) -> None:
    shown = terminal_text(text)
    for character in shown:
        assert unicodedata.category(character) not in {"Cc", "Cs", "Zl", "Zp"} or character in "\n\t"
        assert unicodedata.bidirectional(character) not in {
            "RLO",
            "LRO",
            "RLE",
            "LRE",
            "RLI",
            "LRI",
            "FSI",
            "PDF",
            "PDI",
        }


def test_plain_text_stays_as_it_is() -> None:
    text = "λx₀. ⟨é, 漢⟩\tx\n"
    assert terminal_text(text) == text


@given(st.text(), st.integers(2, 50))
def test_a_line_is_one_line_no_longer_than_asked(text: str, most: int) -> None:
    shown = line_text(text, most=most)
    assert len(shown) <= most
    assert len(shown.splitlines()) <= 1


def test_a_cut_line_says_so() -> None:
    assert line_text("abcdef", most=4) == "abc…"
    assert line_text("abcd", most=4) == "abcd"
