"""Names, numbers, escapes and bytes."""

from __future__ import annotations

import pytest

from hvm4viz.syntax.tokens import decode, id_name, name_id, number, unescape
from hvm4viz.term import CHR, CON, NIL, SUC, ZER


def test_built_in_ids_are_those_of_their_names() -> None:
    assert [name_id(name) for name in ("ZER", "SUC", "NIL", "CON", "CHR")] == [ZER, SUC, NIL, CON, CHR]


@pytest.mark.parametrize(
    ("code", "name"), [(0, "_"), (1, "a"), (26, "z"), (27, "A"), (53, "0"), (63, "$"), (64, "a_"), (0x800000, "F___")]
)
def test_id_is_written_in_base_64(code: int, name: str) -> None:
    assert id_name(code) == name
    assert name_id(name) == code


def test_id_takes_the_last_four_characters() -> None:
    assert name_id("Widget") == name_id("dget")
    assert name_id("a____") == 0


@pytest.mark.parametrize("digits", ["0", "007", "4294967295", "4294967296", "9" * 5000, "1" + "0" * 100_000])
def test_number_is_taken_modulo_two_to_the_32(digits: str) -> None:
    value = 0
    for digit in digits:
        value = (value * 10 + int(digit)) % 2**32

    assert number(digits) == value


def test_escapes() -> None:
    assert unescape(r"\n\t\r\0\\\'\"\q\λ") == "\n\t\r\0\\'\"qλ"
    assert unescape("\\😀") == "😀"


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", ""),
        ("λ↑₀₁😀".encode(), "λ↑₀₁😀"),
        (b"\xef\xbb\xbf@a", "@a"),
        (b"a\xffb", "aÿb"),
        (b"\xc3(", "Ã("),
        (b"\xe2\x82", "â\x82"),
        (b"\xed\xa0\x80", "\ud800"),
        (b"a\xed\xa0\x80b\xed\xb0\x80\xed\xbf\xbfc", "a\ud800b\udc00\udfffc"),
        (b"\x80\x81\xff\xc3\xa9", "\x80\x81ÿé"),
    ],
)
def test_bytes_that_are_no_utf8_stand_for_themselves(data: bytes, text: str) -> None:
    assert decode(data) == text


def test_garbage_decodes_in_linear_time() -> None:
    assert len(decode(bytes(range(256)) * 4096)) > 900_000
