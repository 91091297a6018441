"""Small programs and heaps whose every schedule is run: each meets one corner of the duplication protocols."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

import hvm4viz as hv
from hvm4viz.heap import HeapBuilder
from hvm4viz.term import Tag

PAIR = 77
SLOT_CELLS = 4
COUNT = "@count = λ{0n: λx. x; 1n+: λn. λx. @count(n, x)}\n"
SPIN = "@spin = λn. @spin((n + 1))\n"


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """One program or heap and the machine it is run on.

    Attributes
    ----------
    name : str
    subject : str or callable
        Source text, or what lays out the heap.
    settings : dict
        Of ``Machine``, beside those of the protocol.
    shows : frozenset of str
        Outcomes of tasks and operations on slots that must be seen under some protocol: what the model is for.
    is_counted : bool
        Whether the number of interactions is the same under every schedule.
    heavy : frozenset of str
        Kinds of protocol ("atomic live", ...) of which there are too many schedules here.
    """

    name: str
    subject: str | Callable[[], hv.Heap]
    settings: dict[str, Any] = field(default_factory=dict[str, Any])
    shows: frozenset[str] = frozenset()
    is_counted: bool = True
    heavy: frozenset[str] = frozenset()

    def machine(self, **protocol: Any) -> hv.Machine:
        """The machine under a protocol."""
        plain: dict[str, Any] = {
            "blocks": 3, "threads_per_block": 1, "region_size": 64, "heap": "32 KiB", "fork": "off",
        }  # fmt: skip
        return hv.Machine(**plain | self.settings | protocol)

    def start(self) -> str | hv.Heap:
        """Source text, or the heap."""
        return self.subject if isinstance(self.subject, str) else self.subject()

    def __str__(self) -> str:
        return self.name


def _main(term: str) -> str:
    return f"@main = {term}"


def nested_pairs() -> hv.Heap:
    """The first worked example."""
    builder = HeapBuilder(8)
    builder.put(0, Tag.C00 + 2, PAIR, 1)
    builder.put(1, Tag.C00 + 2, PAIR, 3).put(2, Tag.C00 + 2, PAIR, 5)
    return builder.numbers(3, [1, 2]).numbers(5, [3, 4]).heap()


def shared_pair() -> hv.Heap:
    """The second worked example: ``! x &L= &L{1, 2}; #Pair{x₀, #Pair{3, x₁}}`` over three regions."""
    builder = HeapBuilder(24)
    builder.put(0, Tag.C00 + 2, PAIR, 8)
    builder.put(1, Tag.SUP, 5, 5).numbers(5, [1, 2])
    builder.put(8, Tag.DP0, 5, 1).put(9, Tag.C00 + 2, PAIR, 17)
    return builder.put(17, Tag.NUM, 0, 3).put(18, Tag.DP1, 5, 1).heap()


def chain(n: int, blocks: int) -> hv.Heap:
    """A chain of n slots whose owners alternate; the other side of each is asked for at the same time."""
    region = 32
    builder = HeapBuilder(region * blocks)
    slots = [region * (i % blocks) + 14 + (SLOT_CELLS + 1) * (i // blocks) for i in range(n)]
    builder.put(0, Tag.C00 + n + 1, PAIR, 1)
    builder.put(1, Tag.DP0, 5 + n - 1, slots[-1])
    for i, slot in enumerate(slots):
        builder.put(2 + i, Tag.DP1, 5 + i, slot)
        if i == 0:
            builder.put(slot, Tag.SUP, 9, 10).numbers(10, [1, 2])
        else:
            builder.put(slot, Tag.DP0, 5 + i - 1, slots[i - 1])
    return builder.heap()


def room_left(cells: int) -> Callable[[], hv.Heap]:
    """A slot with a pair whose owner has so many cells left."""

    def lay() -> hv.Heap:
        region = 64
        builder = HeapBuilder(region)
        builder.put(0, Tag.C00 + 3, PAIR, 1)
        builder.put(1, Tag.NUM, 0, 7).put(2, Tag.DP0, 5, 8).put(3, Tag.DP1, 5, 8)
        builder.put(8, Tag.C00 + 2, PAIR, 12).numbers(12, [1, 2])
        return builder.put(region - cells - SLOT_CELLS, Tag.NUM, 0, 1).heap()

    return lay


TWO = {"blocks": 2}
MATES = {"blocks": 1, "threads_per_block": 2}
FORKED = {"fork": "auto"}

MODELS: tuple[Model, ...] = (
    # a shared slot reached by two threads: by its owner and another, and by two others
    Model("number", _main("! x &L= 2 * 3; #T{x₀, x₁}"), shows=frozenset({"deferred", "contended"})),
    Model("number_others", _main("! x &L= 2 * 3; #T{0, x₀, x₁}"), shows=frozenset({"deferred", "parked", "wake"})),
    Model("pair", _main("! x &L= #P{1 + 2, 4}; #T{x₀, x₁}")),
    Model("pair_others", _main("! x &L= #P{1 + 2, 4}; #T{0, x₀, x₁}"), heavy=frozenset({"atomic live"})),
    Model("function", _main("! f &L= λx. x + 1; #T{f₀(1), f₁(2)}")),
    Model("function_others", _main("! f &L= λx. x + 1; #T{0, f₀(1), f₁(2)}"), heavy=frozenset({"atomic live"})),
    Model("same_label", _main("! x &L= &L{1, 2}; #T{0, x₀, x₁}")),
    Model("other_label", _main("! x &L= &M{1 + 1, 2}; #T{0, x₀, x₁}"), heavy=frozenset({"atomic live"})),
    Model("little_fuel", _main("! x &L= (1 + 2) + (3 + 4); #T{0, x₀, x₁ + 1}"), {"fuel": 1}),
    # several slots and threads
    Model("two_slots", _main("! x &A= 1 + 2; ! y &B= 3 + 4; #T{x₀ + y₀, y₁, x₁}"), heavy=frozenset({"atomic"})),
    Model("crossed", _main("! x &A= 1 + 2; ! y &B= 3 + 4; #T{x₀ + y₀, y₁ + x₁}"), TWO),
    Model("nested", _main("! x &A= (! y &B= 2 * 3; #P{y₁, y₀}); #T{x₀, x₁}"), heavy=frozenset({"atomic live"})),
    Model("nested_twice", _main("! x &A= 1 + 1; ! y &B= x₀; ! z &C= y₀; #T{z₀, z₁, y₁ + x₁}"), TWO),
    Model("chain_two", lambda: chain(2, 2), {"blocks": 2, "region_size": 32, "shard": "address"}),
    Model("chain_three", lambda: chain(3, 3), {"region_size": 32}, heavy=frozenset({"atomic"})),
    Model("chain_address", lambda: chain(4, 2), {"blocks": 2, "region_size": 32, "shard": "address"}),
    Model(
        "four_threads",
        _main("! x &A= 1 + 2; ! y &B= 3 + 4; #T{x₀, y₀, y₁, x₁}"),
        {"blocks": 4},
        heavy=frozenset({"atomic"}),
    ),
    Model("mates", _main("! x &L= 2 * 3; #T{x₀, x₁}"), MATES),
    Model("mates_pair", _main("! x &L= #P{1 + 2, 4}; #T{x₀, x₁}"), MATES),
    Model("owner_has_side_one", _main("! x &L= (1 + 2) + (3 + 4); #T{x₁, x₀}"), {"blocks": 2, "fuel": 1}),
    Model(
        "polls_behind_others",
        COUNT
        + _main("! x &A= @count(3n, 7); ! y &B= @count(0n, 5); ! z &C= @count(1n, 3); #T{x₁, y₁, x₀ + y₀, z₀, z₁}"),
        {"blocks": 2, "fuel": 4},
        heavy=frozenset({"atomic"}),
    ),
    # ends that are erased, slots that are given back
    Model("owner_erased", _main("! x &L= 1 + 2; #T{(λu. 5)(x₀), x₁, 6}")),
    Model("other_erased", _main("! x &L= 1 + 2; #T{0, x₀, (λu. 5)(x₁)}")),
    Model(
        "stuck", _main("λv. ! x &L= v + 1; #T{0, x₀, x₁}"), shows=frozenset({"stuck"}), heavy=frozenset({"atomic live"})
    ),
    Model(
        "stuck_by_fuel",
        _main("λv. ! x &L= (1 + 2) + v; #T{0, x₀ + 1, x₁}"),
        {"fuel": 1},
        heavy=frozenset({"atomic live"}),
    ),
    Model("stuck_after_a_while", COUNT + _main("λv. ! x &L= @count(2n, v); #T{0, x₀, x₁}"), {"fuel": 2}),
    Model(
        "owner_comes_when_published",
        COUNT + _main("! x &L= @count(2n, 7); #T{(@count(3n, 1) + x₀), x₁}"),
        {"fuel": 3},
    ),
    Model("stuck_in_slot", _main("λv. ! x &A= v(1); ! y &B= x₀; #T{y₀, y₁, x₁}"), TWO),
    # a variable that is filled late
    Model("filled_late", _main("! f= λ v; #T{f(5)(9), v + 1}"), TWO, is_counted=False),
    Model("filled_late_shared", _main("! f= λ v; ! x &L= v + 1; #T{x₀, x₁, f(5)(9)}"), TWO, is_counted=False),
    Model(
        "filled_late_by_other",
        _main("! f= λ v; ! x &L= v + 1; #T{x₀, x₁, f(5)(9)}"),
        is_counted=False,
        heavy=frozenset({"atomic"}),
    ),
    Model("filled_in_the_first_pass", _main("! f= λ v; f(#T{v, 1})(9)"), TWO, is_counted=False),
    # cells that run out
    *(
        Model(
            f"room_{cells}", room_left(cells), {"region_size": 64}, shows=frozenset({"starved"} if cells < 10 else ())
        )
        for cells in (9, 10, 11)
    ),
    Model(
        "starved", _main("! x &L= #P{1 + 2, 4}; #T{x₀, x₁}"), {"blocks": 2, "region_size": 16}, frozenset({"starved"})
    ),
    # atoms are born published
    Model("born_number", _main("! x &L= 5; #T{x₀, x₁ + 1, 2}"), shows=frozenset({"read"})),
    Model("born_name", _main("! x &L= ^foo; #T{x₀, x₁}")),
    # forks, and tasks that are cancelled
    Model(
        "forked",
        _main("((1 + 2) + (3 + 4)) + ((5 + 6) + (7 + 8))"),
        FORKED | {"fuel": 1},
        frozenset({"forked"}),
        is_counted=False,
    ),
    Model(
        "cancelled_holder",
        COUNT + SPIN + _main("! x &L= @count(2n, 7); #P{(@count(1n, &{}) + (x₀ + @spin(0))), (@count(1n, 1) + x₁)}"),
        FORKED | {"fuel": 4, "blocks": 2},
        frozenset({"forked"}),
        is_counted=False,
    ),
    Model(
        "cancelled_holder_wakes",
        COUNT + SPIN + _main("! x &L= @count(2n, 7); #P{(@count(2n, &{}) + (x₀ + @spin(0))), (@count(1n, 1) + x₁)}"),
        FORKED | {"fuel": 4, "blocks": 2},
        frozenset({"forked"}),
        is_counted=False,
    ),
    Model(
        "cancelled_waiter",
        COUNT + SPIN + _main("#P{0, ! x &L= 7 + 0; #Q{(@count(1n, &{}) + (x₀ + @spin(0))), 0, (@count(1n, 1) + x₁)}}"),
        FORKED | {"fuel": 4, "blocks": 2},
        frozenset({"forked"}),
        is_counted=False,
    ),
    Model(
        "given_back_and_published",  # and the thread that gave it back comes while another publishes
        COUNT + _main("! x &L= @count(4n, 7); #P{(@count(2n, &A{1, 2}) + (x₀ + 0)), (@count(3n, 1) + x₁)}"),
        FORKED | {"fuel": 6, "blocks": 2},
        frozenset({"forked"}),
        is_counted=False,
    ),
    # the worked examples
    Model("nested_pairs", nested_pairs, {"threads_per_block": 4, "region_size": 8, "shard": "address"}),
    Model("shared_pair", shared_pair, {"threads_per_block": 4, "region_size": 8, "shard": "address"}),
    Model("shared_pair_by_index", shared_pair, {"threads_per_block": 4, "region_size": 8}),
    Model("shared_pair_blocks", shared_pair, {"threads_per_block": 2, "region_size": 8}),
)


def _given_back(choose: Random, number: int) -> Model:
    """Two operands that share a slot are forked, and cancelled or wanted again, at times that differ a little."""
    wait, first, second = choose.choice((1, 3, 5)), choose.randrange(4), choose.randrange(4)
    left, right = choose.choice(("&A{1, 2}", "&{}")), choose.choice(("&A{3, 4}", "&{}"))
    fuel, blocks = choose.choice(((2, 2), (3, 3), (4, 2), (6, 2)))
    ends = f"(@count({first}n, {left}) + (x₀ + 0)), (@count({second}n, {right}) + (x₁ + 0))"
    shared = f"! x &L= @count({wait}n, 7); #T{{{ends}}}"  # the first fork comes to the slot's owner
    return Model(
        f"given_back_{number}",
        COUNT + _main(choose.choice((shared, f"#P{{0, {shared}}}"))),  # or to another thread
        FORKED | {"fuel": fuel, "blocks": blocks},
        is_counted=False,
        heavy=frozenset({"atomic", "block live"}),
    )


VARIANTS: tuple[Model, ...] = tuple(_given_back(Random(number), number) for number in range(120))
"""Many of a kind: what meets what is a matter of passes here, and the kernel's policy of forking decides on that."""
