from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hvm4viz.widgets.escape import html_text, line_text, script_json, terminal_text

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


INVISIBLE = [
    *((code, f"\\x{code:02x}") for code in [*range(0x20), *range(0x7F, 0xA0)]),
    (0x061C, "\\u061c"),
    *((code, f"\\u{code:x}") for code in [0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A), 0xFEFF]),
    *((code, f"\\u{code:x}") for code in range(0xD800, 0xE000)),
]
"""Every character that is shown as an escape, and as which."""


@pytest.mark.parametrize("escape", [terminal_text, line_text, html_text])
def test_these_characters_are_escaped_and_no_others(escape: Callable[[str], str]) -> None:
    stays = "" if escape is line_text else "\n\t"
    escaped = {chr(code): text for code, text in INVISIBLE if chr(code) not in stays}
    entities = {"<": "&lt;", ">": "&gt;", "&": "&amp;", '"': "&quot;", "'": "&#x27;"} if escape is html_text else {}

    for code in range(0x1_1000):
        character = chr(code)
        assert escape(character) == escaped.get(character, entities.get(character, character)), hex(code)


def test_a_line_is_cut_where_it_is_longer_than_asked_once_it_is_escaped() -> None:
    assert line_text("\x00\x00", most=8) == "\\x00\\x00"
    assert line_text("\x00\x00", most=7) == "\\x00\\x…"
    assert line_text("abcd\x00", most=4) == "abc…"
    assert line_text("abc\x00", most=4) == "abc…"
    assert line_text("a" * 200) == "a" * 200
    assert line_text("a" * 201) == "a" * 199 + "…"


def test_json_in_a_script_cannot_end_it() -> None:
    text = "</script><!--&\u2028\u2029é\ud800"
    shown = script_json({"k": [text, 1, None, True]})

    assert shown == ('{"k":["\\u003c/script\\u003e\\u003c!--\\u0026\\u2028\\u2029\\u00e9\\ud800",1,null,true]}')
    assert json.loads(shown) == {"k": [text, 1, None, True]}
    with pytest.raises(ValueError, match="JSON"):
        script_json(float("nan"))
