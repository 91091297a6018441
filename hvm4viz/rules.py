"""The table of interaction rules, read from the headers of ``kernels/rules``.

A rule's header is its specification, its documentation and its test case; the dispatch, the numbering and the rule
names of every trace are generated from it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

LABELS = ("redex", "when", "takes", "words", "writes", "near", "example")


@dataclass(frozen=True, slots=True)
class Rule:
    """One interaction.

    Attributes
    ----------
    name : str
        Name as in the literature, ``DUP-SUP``.
    file : str
        Stem of its file, ``dup_sup``.
    frames, values : tuple of str
        What it fires on: frames (or ``enter``) and tags of the value in hand.
    when : str
        Further condition, a C expression, or empty.
    takes_closure : bool
        Whether the value may be an unboxed closure; otherwise it gets cells first.
    is_near : bool
        Whether the near loop knows it (``kernels/near.h``): one of the rules that most steps of most programs are.
    words : str
        Most cells it allocates, a C expression over ``arity``, ``slot`` and ``lam``.
    sequent, writes : str
    examples : tuple of (str, str)
        (term, expected output); running the term fires the rule.
    text : str
        The whole file.
    """

    name: str
    file: str
    frames: tuple[str, ...]
    values: tuple[str, ...]
    when: str
    takes_closure: bool
    is_near: bool
    words: str
    sequent: str
    writes: str
    examples: tuple[tuple[str, str], ...]
    text: str

    def __str__(self) -> str:
        """Return the whole file."""
        return self.text


def kernel_folder() -> Path:
    """Return the folder of the kernel text, in an install or in a checkout."""
    installed = Path(__file__).parent / "_kernels"
    return installed if installed.is_dir() else Path(__file__).parent.parent / "kernels"


def parse_rule(file: str, text: str) -> Rule:
    """Read one rule file.

    Raises
    ------
    ValueError
        If the header lacks a sequent, a label or the function, naming the file and what is missing.
    """
    lines = text.splitlines()
    header = [
        line[2:].removeprefix(" ")
        for line in lines[: next((i for i, s in enumerate(lines) if not s.startswith("//")), 0)]
    ]
    labels: dict[str, list[str]] = {}
    sequent: list[str] = []
    for line in header:
        match = re.match(r"(\w+): +(.*)", line)
        if match and match[1] in LABELS:
            labels.setdefault(match[1], []).append(match[2].strip())
        elif line.strip() and not labels:
            sequent.append(line)
    bar = next((line for line in sequent if re.match(r"-{4,} ", line)), None)
    missing = [label for label in ("redex", "words", "writes", "example") if label not in labels]
    if bar is None:
        missing.insert(0, "sequent with a bar and the rule's name")
    if f"rule_{file}(" not in text:
        missing.append(f"function rule_{file}")
    if missing or bar is None:
        raise ValueError(f"kernels/rules/{file}.h: the header lacks {', '.join(missing)}; see kernels/README.md")
    name = bar.split(" ", 1)[1].strip()
    if name != file.upper().replace("_", "-"):
        raise ValueError(f"kernels/rules/{file}.h: the bar names {name}; a rule is named after its file")
    frames, _, values = labels["redex"][0].partition("|")
    examples: list[tuple[str, str]] = []
    for example in labels["example"]:
        term, _, expected = example.partition("  =>  ")
        examples.append((term.strip(), expected.strip()))
    return Rule(
        name=name,
        file=file,
        frames=tuple(frames.split()),
        values=tuple(values.split()),
        when=labels.get("when", [""])[0],
        takes_closure=labels.get("takes", ["node"])[0] == "closure",
        is_near=labels.get("near", ["no"])[0] == "yes",
        words=labels["words"][0],
        sequent="\n".join(sequent),
        writes=labels["writes"][0],
        examples=tuple(examples),
        text=text,
    )


def without_room(rules: tuple[Rule, ...], frame: str, value: str, *, is_closure: bool) -> list[str]:
    """Return the names of the rules that may find no cells where a value meets a frame (or on ``enter``).

    Those are the rules that take cells, and for a closure those that want a node in its place, too. There is one, but
    where a closure is the argument of a case under a guard: whether the case fits is not known here.
    """
    return [
        rule.name
        for rule in rules
        if frame in rule.frames
        and value in rule.values
        and (rule.words != "0" or (is_closure and not rule.takes_closure))
    ]


@cache
def rule_table() -> tuple[Rule, ...]:
    """Return every rule, in the order of file names: the index is the rule's number in this build."""
    folder = kernel_folder() / "rules"
    return tuple(parse_rule(path.stem, path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.h")))
