"""One offence for every rule: each plant changes a forgery and says where the offence must be found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hvm4viz.events import OPERATIONS, ORIGINS, OUTCOMES, REASONS
from hvm4viz.term import SUB_BIT
from tests.trace.forging import Forgery

OUTCOME = {name: code for code, name in enumerate(OUTCOMES)}
ORIGIN = {name: code for code, name in enumerate(ORIGINS)}
REASON = {name: code for code, name in enumerate(REASONS)}
OP = {name: code for code, name in enumerate(OPERATIONS)}

Place = tuple[int, int | None, int | None]
Plant = Callable[[Forgery], Place]
PLANTS: dict[str, tuple[str, str, Plant]] = {}
"""By name: base, rule, and what changes a forgery and says where the offence must be found."""


def plant(base: str, rule: str) -> Callable[[Plant], Plant]:
    """Make a test of a function."""

    def keep(function: Plant) -> Plant:
        PLANTS[function.__name__] = base, rule, function
        return function

    return keep


@plant("owner", "the interactions of a pass are those of its rules")
def one_interaction_more(forgery: Forgery) -> Place:
    forgery.rows["interactions"][7] += 1
    return 7, None, None


@plant("owner", "the interactions of a pass are those of its rules")
def a_rule_that_fired_less(forgery: Forgery) -> Place:
    forgery.tables["rules"][9]["count"][0] -= 1
    return 9, None, None


@plant("owner", "every entry of a frontier runs, or waits untouched")
def a_frontier_narrower_than_its_events(forgery: Forgery) -> Place:
    forgery.rows["frontier"][11] -= 1
    return 11, None, None


@plant("owner", "the interactions of a pass are charged to its tasks")
def a_task_charged_less(forgery: Forgery) -> Place:
    p, at = next(
        (p, at) for p, at in forgery.find(interactions=1) if charged(forgery, p) == forgery.rows["interactions"][p]
    )
    forgery.events[p]["interactions"][at] -= 1
    return p, None, None


def charged(forgery: Forgery, p: int) -> int:
    return int(forgery.events[p]["interactions"].sum())


@plant("owner", "no entry takes longer than the longest of its pass")
def a_longest_that_nobody_took(forgery: Forgery) -> Place:
    forgery.rows["longest"][5] += 1
    return 5, None, None


@plant("owner", "a task stops when its fuel is spent")
def a_task_that_goes_on(forgery: Forgery) -> Place:
    p, at = forgery.find(outcome=OUTCOME["fuel"])[20]
    forgery.events[p]["interactions"][at] = 4
    return forgery.where(p, at)


@plant("owner", "a region is given once and keeps its owner")
def a_region_given_twice(forgery: Forgery) -> Place:
    first, second = [p for p, given in enumerate(forgery.tables["given"]) if given.size][:2]
    forgery.tables["given"][second]["region"][0] = forgery.tables["given"][first]["region"][0]
    return second, None, None


@plant("owner", "a region is given once and keeps its owner")
def a_region_out_of_turn(forgery: Forgery) -> Place:
    p = next(p for p, given in enumerate(forgery.tables["given"]) if given.size)
    forgery.tables["given"][p]["region"] += 1
    return p, None, None


@plant("owner", "a block gets a region when a thread of it starves")
def a_starved_thread_that_gets_nothing(forgery: Forgery) -> Place:
    p = max(p for p, given in enumerate(forgery.tables["given"]) if given.size)
    block = int(forgery.tables["given"][p]["block"][-1])
    forgery.tables["given"][p] = forgery.tables["given"][p][forgery.tables["given"][p]["block"] != block]
    starved = [at for q, at in forgery.find(outcome=OUTCOME["starved"]) if q == p]
    at = next(at for at in starved if forgery.events[p]["thread"][at] // 2 == block)
    return forgery.where(p, at)


@plant("owner", "tasks and slots lie in regions with an owner")
def a_slot_in_nobodys_region(forgery: Forgery) -> Place:
    p, at = forgery.find(outcome=OUTCOME["deferred"])[0]
    forgery.events[p]["slot"][at] = 32 * 4000
    return forgery.where(p, at)


@plant("owner", "cells come from the block's own regions")
def a_cell_from_nowhere(forgery: Forgery) -> Place:
    p, at = forgery.find(outcome=OUTCOME["fuel"])[5]
    forgery.events[p]["cells"][at] += 1
    return p, None, None


@plant("owner", "cells come from the block's own regions")
def a_region_with_more_cells_than_it_has(forgery: Forgery) -> Place:
    forgery.tables["cells"][4]["cells"][0] = 33
    return 4, None, None


@plant("owner", "an entry runs on a thread of the machine")
def a_thread_that_is_not_there(forgery: Forgery) -> Place:
    forgery.events[6]["thread"][-1] = 10
    return forgery.where(6, -1)


@plant("owner", "a frontier is its segments in thread order")
def two_segments_swapped(forgery: Forgery) -> Place:
    p = next(p for p, events in enumerate(forgery.events) if p > 3 and np.unique(events["thread"]).size > 1)
    at = int(np.flatnonzero(np.diff(forgery.events[p]["thread"].astype(int)) > 0)[0]) + 1
    forgery.swap(p, at)
    return forgery.where(p, at)


@plant("owner", "a segment holds resumed, sent, fresh and polling entries in this order")
def a_fresh_entry_before_a_resumed_one(forgery: Forgery) -> Place:
    p, at = next(
        (p, at)
        for p, at in forgery.find(origin=ORIGIN["fresh"])
        if at and follows(forgery, p, at) and forgery.events[p]["origin"][at - 1] == ORIGIN["resume"]
    )
    forgery.swap(p, at)
    return forgery.where(p, at)


def follows(forgery: Forgery, p: int, at: int) -> bool:
    thread = forgery.events[p]["thread"]
    return bool(thread[at] == thread[at - 1])


@plant("owner", "a segment holds resumed, sent, fresh and polling entries in this order")
def two_hops_in_the_order_of_arrival(forgery: Forgery) -> Place:
    p, at = next(
        (p, at)
        for p, at in forgery.find(origin=ORIGIN["hop"])
        if at and follows(forgery, p, at) and forgery.events[p]["origin"][at - 1] == ORIGIN["hop"]
    )
    forgery.swap(p, at)
    return forgery.where(p, at)


@plant("owner", "fresh entries are dealt in turn, to the owner of their cell, or to idle threads")
def a_fresh_entry_on_another_thread(forgery: Forgery) -> Place:
    p, at = next((p, at) for p, at in forgery.find(origin=ORIGIN["fresh"]) if p > 3 and last_of_pass(forgery, p, at))
    forgery.events[p]["thread"][at] = 9
    return forgery.where(p, at)


def last_of_pass(forgery: Forgery, p: int, at: int) -> bool:
    events = forgery.events[p]
    return at == events.size - 1 and events["thread"][at] < 9


@plant("address", "fresh entries are dealt in turn, to the owner of their cell, or to idle threads")
def a_fresh_entry_away_from_its_cell(forgery: Forgery) -> Place:
    p, at = next((p, at) for p, at in forgery.find(origin=ORIGIN["fresh"]) if p > 3 and last_of_pass(forgery, p, at))
    forgery.events[p]["thread"][at] = 9
    return forgery.where(p, at)


@plant("idle", "fresh entries are dealt in turn, to the owner of their cell, or to idle threads")
def a_fresh_entry_past_an_idle_thread(forgery: Forgery) -> Place:
    p, at = next((p, at) for p, at in forgery.find(origin=ORIGIN["fresh"]) if p > 3 and last_of_pass(forgery, p, at))
    forgery.events[p]["thread"][at] = 9
    return forgery.where(p, at)


@plant("block", "tasks that come to a block are dealt in turn")
def a_hop_to_the_wrong_lane(forgery: Forgery) -> Place:
    p, at = next(
        (p, at)
        for p, at in forgery.find(origin=ORIGIN["hop"])
        if forgery.events[p]["thread"][at] % 2 == 0
        and (at + 1 == forgery.events[p].size or forgery.events[p]["thread"][at + 1] > forgery.events[p]["thread"][at])
    )
    forgery.events[p]["thread"][at] += 1
    return forgery.where(p, at)


@plant("owner", "a cell has at most one live task")
def a_second_entry_for_a_cell(forgery: Forgery) -> Place:
    p, at = next((p, at) for p, at in forgery.find(origin=ORIGIN["fresh"], interactions=(1, 2, 3)) if at > 0)
    forgery.events[p]["loc"][at] = forgery.events[p]["loc"][at - 1]
    return forgery.where(p, at)


@plant("owner", "a cell has at most one live task")
def a_task_begun_twice(forgery: Forgery) -> Place:
    p, at = forgery.find(origin=ORIGIN["resume"], outcome=OUTCOME["fuel"])[3]
    forgery.events[p]["origin"][at] = ORIGIN["fresh"]
    return forgery.where(p, at)


@plant("owner", "an entry continues its task, or begins one")
def a_hop_of_a_task_that_was_not_deferred(forgery: Forgery) -> Place:
    p, at = next(
        (p, at)
        for p, at in forgery.find(origin=ORIGIN["resume"])
        if at + 1 == forgery.events[p].size or not follows(forgery, p, at + 1)
    )
    forgery.events[p]["origin"][at] = ORIGIN["hop"]
    return forgery.where(p, at)


@plant("owner", "an entry continues its task, or begins one")
def a_poll_under_a_protocol_that_does_not(forgery: Forgery) -> Place:
    p, at = next(
        (p, at)
        for p, at in forgery.find(origin=ORIGIN["wake"])
        if at + 1 == forgery.events[p].size or not follows(forgery, p, at + 1)
    )
    forgery.events[p]["origin"][at] = ORIGIN["poll"]
    return forgery.where(p, at)


@plant("owner", "an entry continues its task, or begins one")
def a_task_that_nobody_began(forgery: Forgery) -> Place:
    p, at = next(
        (p, at)
        for p, at in forgery.find(origin=ORIGIN["fresh"])
        if p > 0 and (not at or not follows(forgery, p, at) or forgery.events[p]["origin"][at - 1] == ORIGIN["resume"])
    )
    forgery.events[p]["origin"][at] = ORIGIN["resume"]
    return forgery.where(p, at)


@plant("owner", "a task goes on where it was suspended, or at the owner that it went to")
def a_hop_to_another_thread(forgery: Forgery) -> Place:
    p, at = next((p, at) for p, at in forgery.find(origin=ORIGIN["hop"]) if last_of_pass(forgery, p, at))
    forgery.events[p]["thread"][at] = 9
    return forgery.where(p, at)


@plant("owner", "a task goes on where it was suspended, or at the owner that it went to")
def a_suspended_task_that_moved(forgery: Forgery) -> Place:
    p, at = next((p, at) for p, at in forgery.find(origin=ORIGIN["resume"]) if last_of_pass(forgery, p, at))
    forgery.events[p]["thread"][at] = 9
    return forgery.where(p, at)


@plant("owner", "no task is lost")
def a_task_dropped_from_the_frontier(forgery: Forgery) -> Place:
    p, at = next(
        (p, at)
        for p, at in forgery.find(origin=(ORIGIN["resume"], ORIGIN["hop"]), outcome=OUTCOME["done"], cells=0)
        if forgery.events[p].size > 1
    )
    return drop(forgery, p, at)


@plant("claim", "no task is lost")
def a_poll_that_never_comes(forgery: Forgery) -> Place:
    p, at = next((p, at) for p, at in forgery.find(origin=ORIGIN["poll"]) if forgery.events[p].size > 1)
    return drop(forgery, p, at)


def drop(forgery: Forgery, p: int, at: int) -> Place:
    loc = int(forgery.events[p]["loc"][at])
    before = [(q, i) for q, i in forgery.find(loc=loc) if q < p][-1]
    thread = int(forgery.events[before[0]]["thread"][before[1]])
    forgery.drop(p, at)
    return p, loc, thread


@plant("owner", "parked tasks are counted")
def a_parked_task_more(forgery: Forgery) -> Place:
    forgery.rows["parked"][14] += 1
    return 14, None, None


@plant("claim", "parked tasks are counted")
def a_parked_task_less(forgery: Forgery) -> Place:
    p = int(np.flatnonzero(forgery.rows["parked"])[3])
    forgery.rows["parked"][p] -= 1
    return p, None, None


@plant("owner", "slot and reason fit the outcome")
def a_deferral_without_a_reason(forgery: Forgery) -> Place:
    p, at = forgery.find(outcome=OUTCOME["deferred"])[4]
    forgery.events[p]["reason"][at] = 0
    return forgery.where(p, at)


@plant("claim", "slot and reason fit the outcome")
def a_hop_where_nobody_moves(forgery: Forgery) -> Place:
    p, at = forgery.find(outcome=OUTCOME["deferred"])[4]
    forgery.events[p]["reason"][at] = REASON["take"]
    return forgery.where(p, at)


@plant("atomic", "slot and reason fit the outcome")
def a_busy_slot_without_a_place(forgery: Forgery) -> Place:
    p, at = forgery.find(outcome=(OUTCOME["contended"], OUTCOME["parked"]))[0]
    forgery.events[p]["slot"][at] = 0
    return forgery.where(p, at)


@plant("owner", "a task defers only where its thread may not act")
def a_deferral_at_ones_own_slot(forgery: Forgery) -> Place:
    p, at = next((p, at) for p, at in forgery.find(outcome=OUTCOME["deferred"]) if at > 0)
    event = forgery.events[p][at]
    own = hv_owner_cell(forgery, int(event["thread"]))
    event["slot"] = own
    return forgery.where(p, at)


def hv_owner_cell(forgery: Forgery, thread: int) -> int:
    """A cell that a thread owns from the beginning: region of its block, its slice."""
    block, lane = divmod(thread, 2)
    region = int(np.flatnonzero(forgery.original.header.regions == block)[0])
    return 32 * region + 16 * lane + 4


@plant("owner", "a fresh entry is the child of a finished task")
def a_child_without_a_parent(forgery: Forgery) -> Place:
    outcomes = [events["outcome"] for events in forgery.events]
    p = next(
        p
        for p in range(1, len(outcomes))
        if (outcomes[p - 1] != OUTCOME["done"]).all()
        and forgery.events[p].size > 1
        and (forgery.events[p]["origin"] != ORIGIN["fresh"]).all()
    )
    events = forgery.events[p]
    at = int(np.flatnonzero(np.diff(events["thread"].astype(int), append=99) > 0)[-1])
    events["origin"][at], events["loc"][at] = ORIGIN["fresh"], 31
    return forgery.where(p, at)


@plant("owner", "the status fits the last pass")
def a_full_heap_that_starved_nobody(forgery: Forgery) -> Place:
    forgery.status("heap_full")
    return forgery.rows.size - 1, None, None


@plant("owner", "the status fits the last pass")
def a_stalled_run_in_which_nobody_waits(forgery: Forgery) -> Place:
    forgery.status("stalled")
    return forgery.rows.size - 1, None, None


@plant("owner", "the status fits the last pass")
def an_error_in_a_run_that_is_done(forgery: Forgery) -> Place:
    forgery.events[-1]["outcome"][-1] = OUTCOME["error"]
    return forgery.rows.size - 1, None, None


@plant("owner", "the status fits the last pass")
def a_run_that_goes_on_after_an_error(forgery: Forgery) -> Place:
    p, at = next((p, at) for p, at in forgery.find(outcome=OUTCOME["done"], slot=0) if p > 5)
    forgery.events[p]["outcome"][at] = OUTCOME["error"]
    return p, None, None


@plant("owner", "a run that is done leaves no unfinished task")
def a_parked_task_that_is_never_woken(forgery: Forgery) -> Place:
    last = forgery.rows.size - 1
    at = int(np.flatnonzero(forgery.events[last]["outcome"] == OUTCOME["done"])[0])
    forgery.events[last]["outcome"][at] = OUTCOME["fuel"]
    return forgery.where(last, at)


@plant("owner", "every deferral is answered in a later pass")
def a_deferral_left_open(forgery: Forgery) -> Place:
    last = forgery.rows.size - 1
    at = int(np.flatnonzero(forgery.events[last]["outcome"] == OUTCOME["done"])[-1])
    event = forgery.events[last][at]
    event["outcome"], event["reason"] = OUTCOME["deferred"], REASON["take"]
    event["slot"] = hv_owner_cell(forgery, (int(event["thread"]) + 2) % 10)
    return forgery.where(last, at)


def ops_of(forgery: Forgery, kind: str) -> list[tuple[int, int]]:
    return [(p, int(i)) for p, ops in enumerate(forgery.tables["ops"]) for i in np.flatnonzero(ops["op"] == OP[kind])]


def where_op(forgery: Forgery, p: int, i: int) -> Place:
    return forgery.where(p, int(forgery.tables["ops"][p]["event"][i]))


@plant("owner", "a slot is taken, published and given back with its owner's authority")
def a_take_by_another_thread(forgery: Forgery) -> Place:
    p, i = ops_of(forgery, "take")[30]
    op = forgery.tables["ops"][p][i]
    thread = int(forgery.events[p]["thread"][op["event"]])
    op["slot"] = hv_owner_cell(forgery, (thread + 2) % 10)
    return where_op(forgery, p, i)


@plant("block", "a slot is taken, published and given back with its owner's authority")
def a_publication_in_another_block(forgery: Forgery) -> Place:
    p, i = ops_of(forgery, "publish")[10]
    op = forgery.tables["ops"][p][i]
    thread = int(forgery.events[p]["thread"][op["event"]])
    op["slot"] = hv_owner_cell(forgery, (thread + 2) % 10)
    return where_op(forgery, p, i)


@plant("claim", "a slot has one holder at a time")
def two_holders(forgery: Forgery) -> Place:
    """A task reads where it should: make it a take while the slot is held."""
    for p, i in ops_of(forgery, "read"):
        slot = forgery.tables["ops"][p]["slot"][i]
        takes = [(q, k) for q, k in ops_of(forgery, "take") if forgery.tables["ops"][q]["slot"][k] == slot and q < p]
        publishes = [(q, k) for q, k in ops_of(forgery, "publish") if forgery.tables["ops"][q]["slot"][k] == slot]
        if takes and publishes and publishes[0][0] < p:
            q, k = publishes[0]
            forgery.tables["ops"][q] = np.delete(forgery.tables["ops"][q], k)
            at = i - (q == p and k < i)
            forgery.tables["ops"][p]["op"][at] = OP["take"]
            forgery.hold(int(slot))
            return where_op(forgery, p, at)
    raise AssertionError("no slot is read")


@plant("owner", "a slot has one holder at a time")
def a_publication_at_the_other_side(forgery: Forgery) -> Place:
    p, i = ops_of(forgery, "publish")[12]
    forgery.tables["ops"][p]["side"][i] ^= 1
    return where_op(forgery, p, i)


@plant("owner", "a slot is published once, and nobody takes it then")
def a_second_publication(forgery: Forgery) -> Place:
    for p, i in ops_of(forgery, "read"):
        op = forgery.tables["ops"][p][i]
        thread = int(forgery.events[p]["thread"][op["event"]])
        own = int(forgery.original.header.threads_per_block) and thread == owner_of(forgery, int(op["slot"]), p)
        publishes = [q for q, k in ops_of(forgery, "publish") if forgery.tables["ops"][q]["slot"][k] == op["slot"]]
        if own and publishes:
            op["op"] = OP["publish"]
            return where_op(forgery, p, i)
    raise AssertionError("no slot is read by its owner")


def owner_of(forgery: Forgery, cell: int, p: int) -> int:
    block = forgery.original.owner(cell // 32, p)
    assert block is not None
    return 2 * block + cell % 32 // 16


@plant("owner", "others read what was published in an earlier pass")
def a_read_in_the_pass_of_the_publication(forgery: Forgery) -> Place:
    """Let another thread of that pass read what was published in it."""
    for p, k in ops_of(forgery, "publish"):
        ops, events = forgery.tables["ops"][p], forgery.events[p]
        thread = events["thread"][ops["event"][k]]
        others = np.flatnonzero(events["thread"] > thread)
        if others.size:
            extra = ops[k : k + 1].copy()
            extra["event"], extra["op"], extra["side"] = others[-1], OP["read"], 1 - extra["side"]
            forgery.tables["ops"][p] = np.concatenate([ops, extra])
            return forgery.where(p, int(others[-1]))
    raise AssertionError("nobody else is at work")


@plant("claim", "others read what was published in an earlier pass")
def a_read_of_what_nobody_published(forgery: Forgery) -> Place:
    """Hide the publication of a slot whose holder is not done before it is read."""
    for p, i in ops_of(forgery, "read"):
        slot = forgery.tables["ops"][p]["slot"][i]
        published = [(q, k) for q, k in ops_of(forgery, "publish") if forgery.tables["ops"][q]["slot"][k] == slot]
        if not published:
            continue
        q, k = published[0]
        loc = where_op(forgery, q, k)[1]
        if all(not q <= done <= p for done, _ in forgery.find(loc=loc, outcome=OUTCOME["done"])):
            forgery.tables["ops"][q] = np.delete(forgery.tables["ops"][q], k)
            forgery.hold(int(slot))
            return where_op(forgery, p, i - (q == p and k < i))
    raise AssertionError("no slot is read while its holder is at work")


@plant("owner", "only tasks that wait are woken")
def a_wake_of_the_other_side(forgery: Forgery) -> Place:
    p, i = ops_of(forgery, "wake")[0]
    forgery.tables["ops"][p]["side"][i] ^= 1
    return where_op(forgery, p, i)


@plant("claim", "only tasks that wait are woken")
def a_wake_where_nobody_waits(forgery: Forgery) -> Place:
    p, i = ops_of(forgery, "publish")[0]
    ops = forgery.tables["ops"][p]
    extra = ops[i : i + 1].copy()
    extra["op"] = OP["wake"]
    forgery.tables["ops"][p] = np.insert(ops, i + 1, extra)
    return where_op(forgery, p, i)


@plant("owner", "only tasks that wait are woken")
def a_task_woken_by_nobody(forgery: Forgery) -> Place:
    p, i = ops_of(forgery, "wake")[2]
    op = forgery.tables["ops"][p][i].copy()
    forgery.tables["ops"][p] = np.delete(forgery.tables["ops"][p], i)
    parks = [
        (q, at)
        for q, at in forgery.find(outcome=OUTCOME["contended"], slot=int(op["slot"]), side=int(op["side"]))
        if q <= p
    ]
    loc = int(forgery.events[parks[-1][0]]["loc"][parks[-1][1]])
    return forgery.where(*forgery.later(parks[-1][0], loc)[0])


@plant("owner", "a task that is done holds no slot")
def a_task_that_is_done_with_a_slot(forgery: Forgery) -> Place:
    """Hide the publication of a slot that nobody reads, in the pass in which its task is done."""
    read = {int(slot) for ops in forgery.tables["ops"] for slot in ops["slot"][ops["op"] == OP["read"]]}
    for p, k in ops_of(forgery, "publish"):
        op = forgery.tables["ops"][p][k]
        event = forgery.events[p][op["event"]]
        if int(op["slot"]) not in read and event["outcome"] == OUTCOME["done"]:
            place = where_op(forgery, p, k)
            forgery.hold(int(op["slot"]))
            forgery.tables["ops"][p] = np.delete(forgery.tables["ops"][p], k)
            return place
    raise AssertionError("every slot is read")


def delta_of(forgery: Forgery, test: Callable[[Any], bool]) -> tuple[int, int]:
    return next(
        (p, i) for p, deltas in enumerate(forgery.tables["deltas"]) for i, d in enumerate(deltas) if p > 3 and test(d)
    )


@plant("owner", "a cell changes from what it held")
def a_change_out_of_nothing(forgery: Forgery) -> Place:
    p, i = delta_of(forgery, lambda d: d["before"] != 0)
    forgery.tables["deltas"][p]["before"][i] ^= 1
    return p, int(forgery.tables["deltas"][p]["cell"][i]), None


@plant("owner", "a cell with SUB is final")
def a_final_cell_that_changes(forgery: Forgery) -> Place:
    p, i = ops_of(forgery, "publish")[3]
    slot = forgery.tables["ops"][p]["slot"][i]
    word = next(d["after"] for d in forgery.tables["deltas"][p] if d["cell"] == slot)
    assert int(word) & SUB_BIT
    deltas = forgery.tables["deltas"][p + 1]
    row = np.zeros(1, deltas.dtype)
    row["cell"], row["before"], row["after"] = slot, word, word ^ np.uint64(1)
    forgery.tables["deltas"][p + 1] = np.insert(deltas, np.searchsorted(deltas["cell"], slot), row)
    return p + 1, int(slot), None


@plant("owner", "a cell that is in use is not zero")
def a_cell_that_is_emptied(forgery: Forgery) -> Place:
    protocol = {int(slot) + k for ops in forgery.tables["ops"] for slot in ops["slot"] for k in range(4)}
    roots = {int(loc) for events in forgery.events for loc in events["loc"]}
    last = {int(d["cell"]): (p, i) for p, deltas in enumerate(forgery.tables["deltas"]) for i, d in enumerate(deltas)}
    cell, (p, i) = next(
        (cell, at)
        for cell, at in last.items()
        if cell not in protocol
        and cell not in roots
        and forgery.tables["deltas"][at[0]]["before"][at[1]] not in (0, 0xFFFFFFFF)
    )
    forgery.tables["deltas"][p]["after"][i] = 0
    return p, cell, None


@plant("owner", "a slot's cell holds what was done to it")
def a_publication_without_a_value(forgery: Forgery) -> Place:
    p, k = ops_of(forgery, "publish")[9]
    slot = int(forgery.tables["ops"][p]["slot"][k])
    (i,) = np.flatnonzero(forgery.tables["deltas"][p]["cell"] == slot)
    forgery.tables["deltas"][p]["after"][i] &= np.uint64(SUB_BIT - 1)
    return where_op(forgery, p, k)


@plant("owner", "a slot's cell holds what was done to it")
def a_slot_that_changes_by_itself(forgery: Forgery) -> Place:
    """Hide take and publication of a slot that both happened in one pass; it is read later."""
    read = {int(slot) for ops in forgery.tables["ops"] for slot in ops["slot"][ops["op"] == OP["read"]]}
    for p, k in ops_of(forgery, "publish"):
        ops = forgery.tables["ops"][p]
        slot = int(ops["slot"][k])
        (delta,) = forgery.tables["deltas"][p][forgery.tables["deltas"][p]["cell"] == slot]
        if slot in read and ops["op"][ops["slot"] == slot].tolist() == [OP["take"], OP["publish"]] and delta["before"]:
            forgery.tables["ops"][p] = ops[ops["slot"] != slot]
            return p, slot, None
    raise AssertionError("no slot is taken and published in one pass")


@plant("owner", "fresh entries are the children of finished tasks, all of them")
def an_entry_for_a_cell_that_is_no_child(forgery: Forgery) -> Place:
    p, at = next((p, at) for p, at in forgery.find(origin=ORIGIN["fresh"]) if p > 1)
    forgery.events[p]["loc"][at] = 31
    return forgery.where(p, at)


@plant("address", "fresh entries are the children of finished tasks, all of them")
def a_child_that_is_never_visited(forgery: Forgery) -> Place:
    p, at = next(
        (p, at)
        for p, at in forgery.find(origin=ORIGIN["fresh"], cells=0)
        if p > 1 and is_last(forgery, p, at) and at not in forgery.tables["ops"][p]["event"]
    )
    loc = int(forgery.events[p]["loc"][at])
    forgery.drop(p, at)
    return p, loc, None


def is_last(forgery: Forgery, p: int, at: int) -> bool:
    events = forgery.events[p]
    return at > 0 and (at + 1 == events.size or int(events["thread"][at + 1]) > int(events["thread"][at]))
