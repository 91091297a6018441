"""Which runs are golden: every family of rules, several machines, each protocol, each way to stop."""

from __future__ import annotations

from typing import Any, Final

from hvm4viz.golden.runs import Golden
from hvm4viz.heap import HeapBuilder
from hvm4viz.rules import rule_table
from hvm4viz.settings import Machine
from hvm4viz.term import Tag

FAMILIES: Final = {
    "app": "app_",
    "guarded": "app_red_",
    "and, or": "and_ or_",
    "use": "use_",
    "duplication": "dup_",
    "dynamic labels": "ddu_ dsu_",
    "equality": "eql_",
    "operators": "op2_",
    "matches, marks": "mat_ uns",
}
"""Families of rules, by the starts of their names: the longest start that fits decides."""

MACHINES: Final[tuple[dict[str, Any], ...]] = (
    {"blocks": 1, "threads_per_block": 1},
    {"blocks": 2, "threads_per_block": 2, "region_size": 64, "fuel": 4},
    {"blocks": 7, "threads_per_block": 1, "region_size": 32, "fuel": 9, "shard": "address"},
    {"blocks": 3, "threads_per_block": 4, "region_size": 64, "fuel": 5, "dup": "claim"},
    {"blocks": 4, "threads_per_block": 2, "region_size": 64, "fuel": 7, "defer": "return"},
    {"blocks": 8, "threads_per_block": 4, "region_size": 128, "fork": "off"},
)
TREE: Final = """\
@tree = λ{0: #Leaf{1}; λ&n. #Node{@tree(n - 1), @tree(n - 1)}}
@sum = λ{#Leaf: λx. x; #Node: λa. λb. @sum(a) + @sum(b)}
@main = @sum(@tree(6))
"""
WIDE: Final = """\
@tree = λ{0: #Leaf{1}; λ&n. #Node{@tree(n - 1), @tree(n - 1)}}
@main = @tree(10)
"""
SHARED: Final = """\
@range = λ{0: []; λ&n. n <> @range(n - 1)}
@sum = λ{[]: 0; <>: λh. λt. h + @sum(t)}
@map = λ{[]: λf. []; <>: λh. λt. λ&f. f(h) <> @map(t, f)}
@main = ! &xs = @map(@range(12), λx. x * 2); #T{@sum(xs), @sum(xs), @map(xs, λx. x + 1), xs}
"""
SORT: Final = """\
@filter = λ{[]: λp. []; <>: λ&h. λt. λ&p. λ{0: λt. t; λu. λt. h <> t}(p(h), @filter(t, p))}
@join = λ{[]: λys. ys; <>: λh. λt. λys. h <> @join(t, ys)}
@sort = λ{[]: []; <>: λ&h. λ&t. @join(@sort(@filter(t, λx. x < h)), h <> @sort(@filter(t, λx. x >= h)))}
@main = @sort([5, 3, 8, 1, 9, 2, 7])
"""
CHURCH: Final = """\
@two = λf. ! &f0 = f; λx. f0(f0(x))
@add = λa. λb. λ&f. λx. a(f, b(f, x))
@main = ! &n = @add(@two, @two); @add(n, @add(n, @two))(λn. n + 1, 0)
"""
CHOICES: Final = "@pick = λ{0: &{}; λ&n. &(n){n, @pick(n - 1)}}\n@main = #P{@pick(3), @pick(2)}"
STREAM: Final = "@nats = λ&n. &(n){n, @nats(n + 1)}\n@main = @nats(0)"
PRIMITIVES: Final = '@main = [%log("first"), %gnf([1 + 2, λx. x]), %nf(3 * 4), %log("last")]'


def _family(name: str) -> list[str]:
    """Return the examples of a family of rules, as items of a list."""
    starts = {start: family for family, both in FAMILIES.items() for start in both.split()}
    items: list[str] = []
    for rule in rule_table():
        best = max((start for start in starts if rule.file.startswith(start)), key=len)
        if starts[best] == name:
            items += [f"({term})" for term, _ in rule.examples if not term.startswith("collapse ")]
    return items


def _stuck() -> str:
    """Return the one example that needs collapsing."""
    (term,) = {term for rule in rule_table() for term, _ in rule.examples if term.startswith("collapse ")}
    return f"@main = {term.removeprefix('collapse ')}"


def _pairs() -> tuple[str, ...]:
    builder = HeapBuilder(8)
    builder.put(0, Tag.C00 + 2, 77, 1).put(1, Tag.C00 + 2, 77, 3).put(2, Tag.C00 + 2, 77, 5)
    return _hexadecimal(builder.numbers(3, [1, 2]).numbers(5, [3, 4]))


def _shared_pair() -> tuple[str, ...]:
    builder = HeapBuilder(24)
    builder.put(0, Tag.C00 + 2, 77, 8).put(1, Tag.SUP, 5, 5).numbers(5, [1, 2])
    builder.put(8, Tag.DP0, 5, 1).put(9, Tag.C00 + 2, 77, 17).put(17, Tag.NUM, 0, 3).put(18, Tag.DP1, 5, 1)
    return _hexadecimal(builder)


def _hexadecimal(builder: HeapBuilder) -> tuple[str, ...]:
    return tuple(f"{word:x}" for word in builder.words.tolist())


def _settings(**chosen: Any) -> dict[str, Any]:
    every = Machine(**chosen).settings()
    return {name: value for name, value in every.items() if name not in ("heap", "memory")}


def runs() -> list[Golden]:
    """Return the golden runs, without what is expected of them."""
    out = [
        Golden(
            name,
            f"the rules {starts}",
            _settings(**MACHINES[i % len(MACHINES)]),
            f"@main = [{', '.join(_family(name))}]",
        )
        for i, (name, starts) in enumerate(FAMILIES.items())
    ]
    by_address: dict[str, Any] = {"blocks": 3, "threads_per_block": 4, "region_size": 8, "shard": "address"}
    out += [
        Golden("stuck terms", "dup_stk, collapsing", _settings(**MACHINES[3]), _stuck(), mode="collapse"),
        Golden("nested pairs", "the first worked example", _settings(**by_address), words=_pairs()),
        Golden("shared pair", "the second, by its owner", _settings(**by_address), words=_shared_pair()),
        Golden("shared pair, claim", "by stamps", _settings(**by_address, dup="claim"), words=_shared_pair()),
        Golden("forks", "operands as tasks", _settings(**MACHINES[1], fork="auto"), TREE),
        Golden("wide", "more threads than a group of them", _settings(blocks=512, region_size=64, fuel=3), WIDE),
        Golden("many readers", "deferrals to an owner", _settings(**MACHINES[2]), SHARED),
        Golden("many readers, claim", "deferrals by stamps", _settings(**MACHINES[3]), SHARED),
        Golden("many readers, return", "tasks that come back", _settings(**MACHINES[4]), SHARED),
        Golden("many readers, block", "any thread of a block", _settings(**MACHINES[1], owner_unit="block"), SHARED),
        Golden("many readers, atomic", "any thread", _settings(**MACHINES[1], dup="atomic"), SHARED),
        Golden("many readers, live", "seen at once", _settings(**MACHINES[1], visibility="live"), SHARED),
        Golden("many readers, idle", "dealt to idle threads", _settings(**MACHINES[1], shard="idle"), SHARED),
        Golden("sort", "lists, regions given", _settings(**MACHINES[2]), SORT),
        Golden("church", "lambdas duplicated", _settings(**MACHINES[3]), CHURCH),
        Golden("choices", "collapsing, to the end", _settings(**MACHINES[5]), CHOICES, mode="collapse"),
        Golden("stream", "collapsing, with a limit", _settings(**MACHINES[4]), STREAM, mode="collapse", limit=9),
        Golden("primitives", "the evaluator and %gnf", _settings(**MACHINES[1]), PRIMITIVES),
        Golden(
            "heap full",
            "where it stops",
            _settings(blocks=1, threads_per_block=4, region_size=8),
            "@main = #T{1, 2, 3}",
        ),
        Golden("wrong", "a runtime error", _settings(**MACHINES[0]), "@main = #A{1, 2(3)}"),
    ]
    return out
