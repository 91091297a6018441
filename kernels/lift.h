// Collapsing: bring the first superposition, mark or erasure of a term to its top (normalize-and-collapse, lift).
//
// Invariants: fields are lifted in order, one after the other, and not at all behind an erasure, as HVM4 does; a
// variable is quoted before the body of its lambda is entered, so duplications of open terms can finish. The frames
// lie in cells of their own: a node's fields hold terms again as soon as they are lifted.

// Lambdas around the term in hand.
FUNC uint lift_depth(THREAD Worker* w) {
  return term_tag(w->top) == F_LROOT ? 0u : (uint)(w->heap[term_val(w->top) + 2u] >> 32);
}

FUNC void lift_push(THREAD Worker* w, uint tag, Term node, uint depth) {
  const uint at = heap_alloc(w, 3u);
  heap_pair(w, at, w->top, node);
  heap_new(w, at + 2u, (ulong)depth << 32);
  w->top = term_new(tag, 0u, at);
}

// Find the guarded term that keeps a node stuck, and drop its guard: the node may go on then. Guards go before any field
// is lifted, since what is lifted cannot react any more: its lambdas are quoted.
FUNC bool lift_drop_guard(THREAD Worker* w, Term node) {
  for (;;) {
    const uint loc = term_val(node);
    bool is_second = false;
    switch (term_tag(node)) {
      case APP: {
        const uint tag = term_tag(static_or(w, w->heap[loc]));
        is_second = tag == MAT || tag == SWI || tag == USE;
        break;
      }
      case OP2: is_second = term_tag(w->heap[loc]) == NUM; break;
      case AND: case OR: case DSU: case DDU: break;
      default: return false;
    }
    const Term held = w->heap[loc + (is_second ? 1u : 0u)];
    if (!is_second && term_tag(static_or(w, held)) == RED) {
      heap_put(w, loc, red_body(w, held));
      return true;
    }
    node = held;
  }
}

// A term in weak normal form: take it apart, or send it up.
FUNC void lift_begin(THREAD Worker* w, uint tag) {
  if (tag == RED) {  // the guard is dropped
    w->hand = red_body(w, w->hand);
    w->apply = false;
    return;
  }
  if (tag == LAM) {
    if (!hand_node(w) || !heap_room(w, 3u, 3u)) return;
    const uint lam = term_val(w->hand), depth = lift_depth(w) + 1u;
    const Term body = w->heap[lam];
    lift_push(w, F_LLAM, (Term)0, depth);
    binder_fill(w, lam, term_new(BJV, 0u, depth));
    w->hand = body;
    w->apply = false;
    return;
  }
  if (tag == SUP || tag == INC) {
    if (!hand_node(w)) return;
    w->lifted = true;
    return;
  }
  if (!hand_node(w)) return;
  if (term_arity(w->hand) == 0u) {
    if (tag == VAR || tag == DP0 || tag == DP1) w->opens += 1u;
    w->lifted = true;
    return;
  }
  if (lift_drop_guard(w, w->hand)) {
    w->apply = false;
    return;
  }
  if (!heap_room(w, 3u, 3u)) return;
  const Term node = w->hand;
  lift_push(w, F_LNODE, node, lift_depth(w));
  w->hand = w->heap[term_val(node)];
  w->apply = false;
}

FUNC Term lift_lambda(THREAD Worker* w, Term body, uint depth) {
  return term_new(LAM, depth, binder_new(w, body, 0u));
}

// A lifted body: the lambda goes around it, inside what was lifted.
FUNC void lift_end_lambda(THREAD Worker* w) {
  const uint at = term_val(w->top), tag = term_tag(w->hand), loc = term_val(w->hand);
  const uint depth = (uint)(w->heap[at + 2u] >> 32);
  if (tag != ERA && !heap_room(w, 2u * w->lam_cells, w->lam_cells)) return;
  if (tag == INC) {
    heap_put(w, loc, lift_lambda(w, w->heap[loc], depth));
  } else if (tag == SUP) {
    heap_put(w, loc, lift_lambda(w, w->heap[loc], depth));
    heap_put(w, loc + 1u, lift_lambda(w, w->heap[loc + 1u], depth));
  } else if (tag != ERA) {
    w->hand = lift_lambda(w, w->hand, depth);
  }
  w->top = w->heap[at];
}

// All fields are lifted: the first that is a superposition or a mark decides.
FUNC void lift_split(THREAD Worker* w, Term node) {
  const uint at = term_val(w->top), n = term_arity(node), from = term_val(node);
  uint i = 0u, tag = 0u;
  for (; i < n; i++) {
    tag = term_tag(w->heap[from + i]);
    if (tag == SUP || tag == INC) break;
  }
  const uint found = i < n ? term_val(w->heap[from + i]) : 0u;
  if (i < n && tag == SUP) {
    if (!heap_room(w, n + (n - 1u) * w->slot_cells, n > 4u ? n : 4u)) return;
    const Term sup = w->heap[from + i];
    const uint label = term_ext(sup), copy = heap_alloc(w, n);
    for (uint k = 0u; k < n; k++) {
      if (k == i) {
        heap_put(w, from + k, w->heap[found]);
        heap_new(w, copy + k, w->heap[found + 1u]);
      } else {
        const uint slot = slot_new(w, w->heap[from + k]);
        heap_put(w, from + k, slot_end(label, slot, 0u));
        heap_new(w, copy + k, slot_end(label, slot, 1u));
      }
    }
    heap_put(w, found, node);
    heap_put(w, found + 1u, term_new(term_tag(node), term_ext(node), copy));
    w->hand = sup;
  } else if (i < n) {
    const Term inc = w->heap[from + i];
    heap_put(w, from + i, w->heap[found]);
    heap_put(w, found, node);
    w->hand = inc;
  } else {
    w->hand = node;
  }
  w->top = w->heap[at];
}

// A lifted field: back into the node; then the next one, or the node as a whole.
FUNC void lift_end_field(THREAD Worker* w) {
  const uint at = term_val(w->top);
  const Term node = w->heap[at + 1u];
  const ulong info = w->heap[at + 2u];
  const uint i = (uint)info & 0xFFu, n = term_arity(node), from = term_val(node);
  if (i < n) {
    heap_put(w, from + i, w->hand);
    if (term_tag(w->hand) == ERA) {
      w->top = w->heap[at];
      return;
    }
    heap_new(w, at + 2u, info + (ulong)1);
    if (i + 1u < n) {
      w->hand = w->heap[from + i + 1u];
      w->apply = false;
      w->lifted = false;
      return;
    }
  }
  lift_split(w, node);
}

// One step on a value under a frame of collapsing.
CALL void lift_step(THREAD Worker* w, uint frame) {
  if (!w->lifted) {
    lift_begin(w, hand_tag(w));
    return;
  }
  switch (frame) {
    case F_LROOT:
      heap_put(w, term_val(w->top), w->hand);
      task_stop(w, OUT_DONE, WHY_NONE);
      return;
    case F_LNODE: lift_end_field(w); return;
    default: lift_end_lambda(w); return;
  }
}
