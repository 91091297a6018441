"""Frames and terms in hand: what hangs on a task."""

from __future__ import annotations

from typing import Final

from hvm4viz.admit import FRAME, JOIN, TERM, BadImage
from hvm4viz.kernel_text import abi
from hvm4viz.readmit.tasks import JOIN_DONE, Task
from hvm4viz.readmit.walk import Running
from hvm4viz.term import EXT_MASK, SUB_BIT, TAG_MASK, VAL_MASK, Tag, arity_of

_FIELDS: Final = {
    abi.F_APP: 2, abi.F_MAT: 2, abi.F_USE: 2, abi.F_OPL: 2, abi.F_OPR: 2, abi.F_EQL: 2, abi.F_EQR: 2, abi.F_AND: 2,
    abi.F_OR: 2, abi.F_DSU: 3, abi.F_DDU: 3, abi.F_RMA: 2, abi.F_RUS: 2,
}  # fmt: skip
"""Cells of the node of a frame whose parent lies in the first."""
"""Cells of the node of a frame whose parent lies in the first."""


class Framed(Running):
    """A walk that knows tasks."""

    # ---- tasks

    def frames(self, task: Task) -> None:
        """Claim the frames of a task, from the innermost out."""
        frame = task.top
        while True:
            if frame & SUB_BIT:
                raise BadImage(f"a frame of the task at cell {task.root} is a substitution")
            tag, node = frame >> 56 & TAG_MASK, frame & VAL_MASK
            if tag in (abi.F_ROOT, abi.F_LROOT):
                if node != task.root or (tag == abi.F_LROOT) != task.lifts:
                    raise BadImage(f"the frames of the task at cell {task.root} end at {node}, or as those of another")
                return
            frame = self._frame(task, tag, node)

    def _frame(self, task: Task, tag: int, node: int) -> int:
        """Claim one frame; return its parent."""
        by = task.root
        if node == 0:
            raise BadImage(f"a frame of the task at cell {by} lies in cell 0, which no term points to")
        if tag in (abi.F_DP0, abi.F_DP1):
            return self._hold(by, node, tag - abi.F_DP0)
        if tag == abi.F_RED:
            self.own(node, by, TERM)
            self.private.append(node)
            self.own(node + 1, by, FRAME)
            parent = self.word(node + 1)
            if parent >> 56 != abi.F_APP:
                raise BadImage(f"above the guarded term at cell {node} stands no application")
            return parent
        self.own(node, by, FRAME)
        if tag in (abi.F_LNODE, abi.F_LLAM) and task.lifts:
            self._lifting(task, tag, node)
        elif tag in _FIELDS:
            for field in range(node + 1, node + _FIELDS[tag]):
                self.own(field, by, TERM)
            self._first_field(tag, node)
        else:
            raise BadImage(f"the task at cell {by} has a frame of tag {tag}, which is none")
        return self.word(node)

    def _first_field(self, tag: int, node: int) -> None:
        """Look at field 1, of which the kernel knows the kind by the frame."""
        word = self.word(node + 1)
        kind = self._kind(word)
        wanted: dict[int, tuple[int, ...]] = {
            abi.F_MAT: (Tag.MAT, Tag.SWI),
            abi.F_USE: (Tag.USE,),
            abi.F_OPR: (Tag.NUM,),
            abi.F_RMA: (Tag.RED,),
            abi.F_RUS: (Tag.RED,),
        }
        if tag in wanted and (kind not in wanted[tag] or (tag >= abi.F_RMA and word >> 56 != Tag.RED)):
            raise BadImage(f"cell {node + 1} holds {word:#x}, which is none that its frame can have")
        if tag in (abi.F_RMA, abi.F_RUS):
            guarded = self._kind(self.word((word & VAL_MASK) + 1))
            if guarded not in ((Tag.MAT, Tag.SWI) if tag == abi.F_RMA else (Tag.USE,)):
                raise BadImage(f"cell {node + 1} holds a guarded term whose body its frame cannot have")
        if word >> 56 == abi.FORKED:
            self._fork(tag, node, word & VAL_MASK)
        else:
            self.private.append(node + 1)
        if _FIELDS[tag] == 3:
            self.private.append(node + 2)

    def _kind(self, word: int) -> int:
        """Tag of a term, seen through a closure."""
        tag = word >> 56 & (TAG_MASK | 0x80)
        cell = word >> 32 & EXT_MASK
        if tag == Tag.ALO and cell < len(self.code):
            return int(self.code[cell]) >> 56 & TAG_MASK
        return tag

    def _fork(self, tag: int, node: int, join: int) -> None:
        if tag != abi.F_OPL or self.serial or self.machine.fork != "auto" or self.machine.threads == 1 or join == 0:
            raise BadImage(f"cell {node + 1} says that it is forked, where nothing is")
        self.joins[join] = node
        self.own(join, node, TERM)
        self.own(join + 1, node, JOIN)
        is_done = self.word(join + 1) >> 32 & JOIN_DONE
        if self.pending.get(join) == "fork" and not is_done:
            self.found.add(join)
            if join in self.new:
                self.private.append(join)
        elif join in self.pending:
            raise BadImage(f"a task is at work at the forked operand in cell {join}, which is done or another's")
        else:
            self.private.append(join)

    def _lifting(self, task: Task, tag: int, at: int) -> None:
        self.own(at + 1, at, FRAME)
        self.own(at + 2, at, FRAME)
        if tag == abi.F_LLAM:
            return
        node, place = self.word(at + 1), self.word(at + 2) & VAL_MASK & 0xFF
        kind, first = node >> 56, node & VAL_MASK
        count = 0 if kind == Tag.PRI else arity_of(node, 0)
        is_over = place == count and task.is_split(at)
        if kind > Tag.PRI or kind in (Tag.LAM, Tag.ALO, Tag.DUP) or not (place < count or is_over) or first == 0:
            raise BadImage(f"the frame at cell {at} lifts field {place} of {node:#x}, which has none")
        if is_over:
            self.split.add(task)
        for field in range(first, first + count):
            self.own(field, at, TERM)
            if field != first + place:  # that one is in hand
                self.private.append(field)

    def _hold(self, by: int, slot: int, side: int) -> int:
        known = self.ends.get(slot, 0)
        if known:
            raise BadImage(f"the slot at {slot} is held twice")
        self.ends[slot] = 1 << side
        self.held[slot] = side
        self._claim_slot(by, slot)
        return self.word(slot)

    def hand(self, task: Task) -> None:
        """Walk from the term in hand."""
        word = task.hand & ~SUB_BIT
        tag, slot = word >> 56 & TAG_MASK, word & VAL_MASK
        self.todo = self.private
        self.term(task.root, word)
        if task.hand & SUB_BIT and tag in (Tag.DP0, Tag.DP1) and not self.is_stuck(slot):
            raise BadImage(f"the task at cell {task.root} takes the slot at {slot} for stuck, and it is not")
