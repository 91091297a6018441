"""What slots and forked operands say of who holds them and who waits."""

from __future__ import annotations

from hvm4viz.admit import ARRIVED, ATOMS, BY_OWNER, PUBLISHED, BadImage
from hvm4viz.kernel_text import abi
from hvm4viz.readmit.frames import Framed
from hvm4viz.readmit.tasks import GIVEN_BACK, JOIN_DONE, LOCK_TAKEN, PASS, STUCK, Task
from hvm4viz.term import EXT_MASK, SUB_BIT, TAG_MASK, VAL_MASK, Tag


class Stamped(Framed):
    """A walk that reads the stamps of slots."""

    # ---- what slots say

    def wait(self, record: int, where: str, waiting: dict[int, Task]) -> Task:
        """Note that a record is named as waiting."""
        task = waiting.get(record)
        if task is None or record in self.awaited:
            raise BadImage(f"task {record} is named as waiting {where}; it does not wait, or is named twice")
        self.awaited[record] = where
        return task

    def slots(self, now: int, waiting: dict[int, Task]) -> None:
        """Check what all slots say of themselves."""
        for slot, ends in self.ends.items():
            has_stamps = self.slot_cells == 4 and not self.serial and (self.inner is None or slot in self.inner)
            if slot not in self.held:
                self._free_slot(slot, ends, now, has_stamps=has_stamps)
            elif has_stamps:
                self._held_slot(slot, now)
            if has_stamps and self.has_waiters:
                self._waiters(slot, now, waiting)

    def _stamps(self, slot: int) -> tuple[int, int]:
        word = self.word(slot + 2)
        return word & VAL_MASK, word >> 32

    def _held_slot(self, slot: int, now: int) -> None:
        side, stamps = self.held[slot], self._stamps(slot)
        if any(stamp & (PUBLISHED | (0 if self.marks_stuck else STUCK)) for stamp in stamps):
            raise BadImage(f"the slot at {slot} is held, and says that it is done")
        if self.is_shared and self.word(slot + 3) & VAL_MASK != LOCK_TAKEN:
            raise BadImage(f"the slot at {slot} is held, and its lock says that it is free")
        if self.by_claim:
            mine, other = stamps[side], stamps[1 - side]
            is_mine = mine & ARRIVED and not mine & GIVEN_BACK and mine & PASS < now
            later = mine & PASS > other & PASS or (mine & PASS == other & PASS and not mine & BY_OWNER and side == 1)
            if not is_mine or (other & ARRIVED and not other & BY_OWNER and self._waiter(slot, 1 - side) and later):
                raise BadImage(f"the slot at {slot} is held by end {side}, and its stamps say that it is not")

    def _free_slot(self, slot: int, ends: int, now: int, *, has_stamps: bool) -> None:
        word = self.word(slot)
        is_atom = (word >> 56 & TAG_MASK) in ATOMS
        is_filled = bool(word & SUB_BIT)
        if is_filled and ends == 3 and not is_atom:
            raise BadImage(f"the slot at {slot} is published and has both its ends: one of them took its value")
        if not has_stamps:
            return
        stamps = self._stamps(slot)
        published = [side for side in (0, 1) if stamps[side] & PUBLISHED]
        unstamped = self.inner is not None and not self.by_claim and not self.is_shared and not published
        if bool(published) != is_filled and not unstamped:
            raise BadImage(f"the slot at {slot} has the stamps {self.word(slot + 2):#x}, and another value")
        if any(stamps[side] & PASS >= now for side in published):
            raise BadImage(f"the slot at {slot} was published in a pass that is still to come")
        if not is_atom and any(ends >> side & 1 for side in published):
            raise BadImage(f"an end of the slot at {slot} is there, and has published")

    def _waiter(self, slot: int, side: int) -> int:
        return self.word(slot + 3) >> 32 * side & VAL_MASK

    def _waiters(self, slot: int, now: int, waiting: dict[int, Task]) -> None:
        for side, stamp in enumerate(self._stamps(slot)):
            waiter = self._waiter(slot, side)
            arrived = bool(stamp & ARRIVED) and not stamp & BY_OWNER
            if waiter == 0 or not (arrived or self.by_claim):
                continue
            if self.by_claim and (stamp & ~PASS != ARRIVED or stamp & PASS >= now):
                raise BadImage(f"task {waiter - 1} waits at the slot at {slot}, and its stamp does not say so")
            task = self.wait(waiter - 1, f"at the slot at {slot}", waiting)
            if task.is_new or task.hand & ~(EXT_MASK << 32) != (Tag.DP0 + side) << 56 | slot:
                raise BadImage(f"task {waiter - 1} waits at the slot at {slot}, and wants something else")

    def joined(self, waiting: dict[int, Task]) -> None:
        """Check who waits for forked operands."""
        for join in self.joins:
            word = self.word(join + 1)
            waiter = word & VAL_MASK
            if waiter == 0 or (word >> 32 & JOIN_DONE and self.joins[join]):  # once it is done nobody looks
                continue
            task = self.wait(waiter - 1, f"for the operand in cell {join}", waiting)
            tag, node = task.top >> 56, task.top & VAL_MASK
            if task.is_new or tag != abi.F_OPL or self.joins[join] != node:
                raise BadImage(f"task {waiter - 1} waits for the operand in cell {join}, and is elsewhere")
