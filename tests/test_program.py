"""Programs at the door: text, files, merging."""

from __future__ import annotations

from pathlib import Path

import pytest

from hvm4viz import limits
from hvm4viz.errors import HvmSyntaxError, ProgramError
from hvm4viz.program import load, parse
from hvm4viz.syntax.names import known_primitives, register_primitive
from hvm4viz.syntax.printer import show


def test_program_knows_its_text_names_and_files() -> None:
    program = parse("@main = @b @b = 1", name="t")

    assert program.source == "@main = @b @b = 1"
    assert program.entry == "main"
    assert program.names == ("main", "b")
    assert program.files == (("t", "@main = @b @b = 1"),)


def test_bytes_are_read_as_utf8() -> None:
    assert parse("@main = λx. x".encode()).source == "@main = λx. x"


def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(TypeError, match="load"):
        parse(Path("x"))  # pyright: ignore[reportArgumentType]


def test_empty_text_is_an_empty_program() -> None:
    assert parse("").names == ()
    assert parse(" // nothing").names == ()


def test_load_reads_a_file(tmp_path: Path) -> None:
    path = tmp_path / "p.hvm4"
    path.write_bytes(b"\xef\xbb\xbf@main = '\xff'\0garbage")

    program = load(path)

    assert program.names == ("main",)
    assert program.files == ((str(path), "@main = 'ÿ'"),)
    assert load(str(path)).names == ("main",)


def test_load_says_what_the_system_says(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "missing.hvm4")
    with pytest.raises(OSError, match=r"."):
        load(tmp_path)
    with pytest.raises(OSError, match="path"):
        load("a\0b")


def test_load_refuses_what_is_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "p.hvm4"
    path.write_text("@main = 1")
    monkeypatch.setattr(limits, "PROGRAM_BYTES_MAX", 9)
    load(path)
    parse("@main = 1")
    monkeypatch.setattr(limits, "PROGRAM_BYTES_MAX", 8)

    with pytest.raises(ProgramError, match="more than 8"):
        load(path)
    with pytest.raises(ProgramError, match="more than 8"):
        parse("@main = 1")


def test_merge_joins_definitions_and_draws_labels_anew() -> None:
    one = parse("@a = λ&x. x(x) @b = 1", name="one")
    two = parse("@c = λ&x. x(x) @b = 2", name="two")

    both = one.merge(two)

    assert both.names == ("a", "b", "c")
    assert [name for name, _ in both.files] == ["one", "two"]
    shown = [show(both.book.words, int(root), both.book, quoted=True) for root in both.book.roots]
    assert shown == ["λa.!B&F___=a;B₀(B₁)", "2", "λa.!B&F__a=a;B₀(B₁)"]
    assert one.names == ("a", "b"), "programs do not change"
    assert one.merge().names == one.names


def test_merge_does_not_read_files_again(tmp_path: Path) -> None:
    (tmp_path / "lib.hvm4").write_text("@lib = 1")
    one = parse('#include "lib.hvm4" @a = @lib', root=tmp_path)
    two = parse('#include "lib.hvm4" @b = @lib', root=tmp_path)
    (tmp_path / "lib.hvm4").unlink()

    assert set(one.merge(two).names) == {"lib", "a", "b"}
    assert set(one.merge(two).merge(two).names) == {"lib", "a", "b"}


def test_registered_primitives_are_known_to_later_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hvm4viz.syntax.names._registered", {})
    with pytest.raises(HvmSyntaxError, match="known primitive"):
        parse("@main = %twice(1, 2)")

    register_primitive("twice", 2)

    assert parse("@main = %twice(1, 2)").book.prims[3] == ("twice", 2)
    assert known_primitives()[:3] == (("log", 1), ("gnf", 1), ("nf", 1))
    with pytest.raises(HvmSyntaxError, match="argument"):
        parse("@main = %twice(1)")
    register_primitive("none", 0)
    assert parse("@main = [%none(), 1]").book.prims[4] == ("none", 0)
    register_primitive("widest", limits.FIELDS_MAX)
    assert known_primitives()[5] == ("widest", limits.FIELDS_MAX)


@pytest.mark.parametrize(
    ("name", "arity"), [("log", 1), ("gnf", 2), ("1a", 1), ("", 1), ("a-b", 1), ("ok", -1), ("ok", 17)]
)
def test_bad_primitives_are_refused(name: str, arity: int) -> None:
    with pytest.raises(ValueError, match=name or "''"):
        register_primitive(name, arity)


def test_log_helpers_of_the_reference_are_no_primitives() -> None:
    for name in ("log_go", "print", "f"):
        with pytest.raises(HvmSyntaxError, match="known primitive"):
            parse(f"@main = %{name}(1)")
