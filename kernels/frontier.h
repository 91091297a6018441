// Items that a thread leaves for the next frontier, and the children that a finished task puts on it.
//
// Invariants: each thread appends to its own list only; the join orders the lists, so arrival order never matters.
// Children of a node are adjacent cells: one item stands for all of them.

FUNC void frontier_item(THREAD Worker* w, uint kind, uint high, uint low) {
  w->items[w->item_count++] = ((ulong)kind << 60) | ((ulong)high << 32) | (ulong)low;
}

// Is there room for one more wake besides the item that ends the task?
FUNC bool frontier_room(THREAD Worker* w) { return w->item_count + 2u <= w->item_max; }

// May a term in weak normal form go on once a variable is filled?
FUNC bool frontier_is_open(uint tag) {
  switch (tag) {
    case VAR: case APP: case OP2: case AND: case OR: case DSU: case DDU: return true;
    default: return false;
  }
}

// Put the child cells of a term in weak normal form on the next frontier.
CALL void frontier_children(THREAD Worker* w, Term t) {
  const uint tag = term_tag(t);
  if (tag == DP0 || tag == DP1) {  // stuck: its slot's term is visited once; the join knows which end comes first
    const uint slot = term_val(t);
    w->opens += 1u;
    if (heap_single(w)) {
      if ((atomic_or(slot_claim(w, slot), CLAIM_VISITED) & CLAIM_VISITED) != 0u) return;
      frontier_item(w, ITEM_FRESH, 1u | ITEM_SLOT | ITEM_ADMITTED, slot);
    } else {
      frontier_item(w, ITEM_FRESH, 1u | ITEM_SLOT, slot);
    }
    return;
  }
  if (frontier_is_open(tag)) w->opens += 1u;
  const uint n = term_arity(t);
  if (n > 0u) frontier_item(w, ITEM_FRESH, n, term_val(t));
}
