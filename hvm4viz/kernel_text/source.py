"""Assemble the one kernel text from ``kernels/``, with the dispatch generated from the rules."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from difflib import get_close_matches, unified_diff
from functools import cache, cached_property, lru_cache
from typing import Final

from hvm4viz.kernel_text.dispatch import dispatch
from hvm4viz.kernel_text.near import near_text
from hvm4viz.rules import Rule, kernel_folder, parse_rule, rule_table

_BEFORE = ("dialect.h", "term.h", "layout.h", "watch.h")
_CORE = ("heap.h", "slot.h", "frontier.h", "fork.h", "moves.h")
_BEFORE_PASS = ("lift.h", "step.h")
_AFTER = ("pass.metal", "join.h", "settle.h", "scan.h", "deal.h")
_WITH_LOG = ("collect.h",)

WATCHERS: Final = ("log", "shadow", "yield")
"""Who may watch the heap during a pass (``kernels/watch.h``)."""


def _read(name: str) -> str:
    return f"// ==== {name}\n" + (kernel_folder() / name).read_text(encoding="utf-8")


@dataclass(frozen=True, repr=False)
class Kernel:
    """The kernel text: the files of ``kernels/`` and, in the middle, the rules.

    Attributes
    ----------
    rules : tuple of Rule
    watchers : tuple of str
        Who watches the heap: none, or some of ``"log"``, ``"shadow"``, ``"yield"``.
    """

    rules: tuple[Rule, ...]
    watchers: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Say which rules are not as shipped; the text itself is long."""
        edited = [
            rule.name for rule, shipped in zip(self.rules, rule_table(), strict=True) if rule.text != shipped.text
        ]
        what = f"edited: {', '.join(edited)}" if edited else "as shipped"
        watched = f", watched: {', '.join(self.watchers)}" if self.watchers else ""
        return f"<Kernel of {len(self.rules)} rules, {what}{watched}>"

    def rule(self, name: str) -> Rule:
        """Return one rule; printing it shows its file.

        Parameters
        ----------
        name : str
            Name (``DUP-SUP``) or file stem (``dup_sup``).

        Raises
        ------
        ValueError
            If no rule has that name.
        """
        stem = name.lower().replace("-", "_")
        found = next((rule for rule in self.rules if rule.file == stem), None)
        if found is None:
            close = get_close_matches(name.upper().replace("_", "-"), self.names, n=1)
            meant = f" (did you mean {close[0]}?)" if close else ""
            raise ValueError(f"no rule is named {name!r}{meant}; hvm4viz.kernel().names lists them")
        return found

    def edit(self, rule: str, old: str, new: str) -> Kernel:
        """Return a kernel in which one stretch of one rule's file reads otherwise.

        Parameters
        ----------
        rule : str
            Name (``DUP-SUP``) or file stem (``dup_sup``).
        old : str
            A stretch that stands in the file exactly once.
        new : str
            What is to stand there.

        Raises
        ------
        ValueError
            If no rule has that name, ``old`` is not there exactly once, or the header is not complete afterwards.
        """
        found = self.rule(rule)
        times = found.text.count(old) if old else 0
        if times != 1:
            raise ValueError(
                f"{old!r} stands {times} times in {found.name}, not once; print(hvm4viz.kernel().rule({rule!r})) shows "
                "the file"
            )
        return self.replace(rule, found.text.replace(old, new))

    def changes(self) -> str:
        """Return how the rules differ from those that ship, as a unified diff; empty if they do not."""
        out: list[str] = []
        for rule, shipped in zip(self.rules, rule_table(), strict=True):
            name = f"rules/{rule.file}.h"
            out += unified_diff(
                shipped.text.splitlines(), rule.text.splitlines(), name, name, "shipped", "edited", lineterm=""
            )
        return "\n".join(out)

    def watched(self, *watchers: str) -> Kernel:
        """Return this kernel with its heap watched.

        Parameters
        ----------
        *watchers : {"log", "shadow", "yield"}
            ``shadow`` remembers who touched each word in the pass, and ends the run as failed where two threads meet
            that must not; ``log`` serves ``record="full"``, ``yield`` the sim device.

        Raises
        ------
        ValueError
            If there is no such watcher.
        """
        for name in watchers:
            if name not in WATCHERS:
                raise ValueError(f"no watcher is named {name!r}; use one of {', '.join(map(repr, WATCHERS))}")
        return _watched(self, tuple(w for w in WATCHERS if w in {*self.watchers, *watchers}))

    def replace(self, rule: str, text: str) -> Kernel:
        """Return a kernel in which one rule's file holds ``text``.

        Parameters
        ----------
        rule : str
            Name (``DUP-SUP``) or file stem (``dup_sup``).
        text : str
            The whole new file, header included.

        Raises
        ------
        ValueError
            If no rule has that name, or the header of ``text`` is not complete.
        """
        stem = self.rule(rule).file
        new = parse_rule(stem, text)
        return Kernel(tuple(new if known.file == stem else known for known in self.rules), self.watchers)

    @property
    def names(self) -> tuple[str, ...]:
        """Name of each rule, by its number."""
        return tuple(rule.name for rule in self.rules)

    @cached_property
    def text(self) -> str:
        """The one text that every device compiles."""
        numbers = "\n".join(f"#define RULE_{rule.file.upper()} {i}u" for i, rule in enumerate(self.rules))
        parts = [f"#define WATCH_{name.upper()} 1" for name in self.watchers]
        parts += [_read(name) for name in _BEFORE]
        parts.append(numbers + "\n")
        parts += [_read(name) for name in _CORE]
        parts += [f"// ==== rules/{rule.file}.h\n{rule.text}" for rule in self.rules]
        parts.append(dispatch(self.rules))
        parts += [_read(name) for name in _BEFORE_PASS]
        parts.append(near_text(self.rules, "\n".join(parts), _read("near.h"), _read("near_run.h")))
        parts += [_read(name) for name in (*_AFTER, *(_WITH_LOG if "log" in self.watchers else ()))]
        return "\n".join(parts)

    @cached_property
    def alone(self) -> str:
        """The same text for machines of one thread: the compiler leaves out what only several can need."""
        return f"#define ALONE 1\n{self.text}"

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the text, whoever watches."""
        if self.watchers:
            return Kernel(self.rules).digest
        return hashlib.sha256(self.text.encode()).hexdigest()


@lru_cache(maxsize=16)
def _watched(kernel: Kernel, watchers: tuple[str, ...]) -> Kernel:
    """Return one and the same kernel each time, so that its text is put together once."""
    return Kernel(kernel.rules, watchers)


@cache
def batch_text() -> str:
    """Return what a host's compiler gets behind the one text: many passes in one call, which no GPU can do."""
    return _read("collapse.h")


@cache
def kernel() -> Kernel:
    """Return the kernel as shipped; edit one interaction with ``Kernel.replace``."""
    return Kernel(rule_table())
