// Moves that several rules share: floating a superposition or a mark out of a node, copying a node's fields,
// reading a case function, comparing field by field, guarded terms.
//
// Invariants: room was checked by the dispatch; a node of the redex that is used up becomes part of the result.

// ---- case functions

FUNC Term hand_static_or(THREAD Worker* w) { return term_tag(w->hand) == ALO ? hand_static(w) : w->hand; }

FUNC Term static_or(THREAD Worker* w, Term t) { return term_tag(t) == ALO ? w->book[term_ext(t)] : t; }

// Field i of a node that may be a closure.
FUNC Term case_field(THREAD Worker* w, Term t, uint i) {
  if (term_tag(t) == ALO) return book_term(w, term_val(w->book[term_ext(t)]) + i, term_val(t));
  return w->heap[term_val(t) + i];
}

// A case matches only its own kind: constructors by id, numbers by value.
FUNC bool case_hits(Term mat, Term value) {
  if (term_tag(value) == NUM) return term_tag(mat) == SWI && term_ext(mat) == term_val(value);
  return term_tag(mat) == MAT && term_ext(mat) == term_ext(value);
}

FUNC bool mat_hits(THREAD Worker* w) {
  return case_hits(static_or(w, w->heap[term_val(w->top) + 1u]), hand_static_or(w));
}

FUNC uint mat_fields(THREAD Worker* w, Term ctr) { return term_arity(static_or(w, ctr)); }

FUNC uint mat_hit_cells(THREAD Worker* w) {
  const uint n = mat_fields(w, w->hand);
  if (n < 2u) return 0u;
  return 2u * (n - 1u - (term_tag(w->hand) == ALO ? 0u : n / 2u));
}

FUNC void mat_miss(THREAD Worker* w) {
  const uint app = term_val(w->top);
  const Term mat = w->heap[app + 1u];
  heap_put(w, app + 1u, w->hand);
  w->top = term_new(F_APP, 0u, app);
  w->hand = case_field(w, mat, 1u);
  w->apply = false;
}

// ---- floating

// ↑a in a node: the node takes a in `field`, the mark's cell takes the node.
FUNC void inc_float(THREAD Worker* w, uint tag, uint ext, uint field) {
  const uint node = term_val(w->top), inc = term_val(w->hand);
  w->top = w->heap[node];
  if (field == 1u) heap_put(w, node, w->heap[node + 1u]);
  heap_put(w, node + field, w->heap[inc]);
  heap_put(w, inc, term_new(tag, ext, node));
}

// &L{a, b} ∘ c: the right side is duplicated.
FUNC void sup_float_left(THREAD Worker* w, uint tag, uint ext) {
  const uint node = term_val(w->top), sup = term_val(w->hand), label = term_ext(w->hand);
  w->top = w->heap[node];
  const uint c = slot_new(w, w->heap[node + 1u]);
  const uint right = heap_alloc(w, 2u);
  heap_pair(w, right, w->heap[sup + 1u], slot_end(label, c, 1u));
  heap_put(w, node, w->heap[sup]);
  heap_put(w, node + 1u, slot_end(label, c, 0u));
  heap_put(w, sup, term_new(tag, ext, node));
  heap_put(w, sup + 1u, term_new(tag, ext, right));
}

// a ∘ &L{b, c}: the left side, reduced, is duplicated.
FUNC void sup_float_right(THREAD Worker* w, uint tag, uint ext) {
  const uint node = term_val(w->top), sup = term_val(w->hand), label = term_ext(w->hand);
  w->top = w->heap[node];
  const uint a = slot_new(w, w->heap[node + 1u]);
  const uint right = heap_alloc(w, 2u);
  heap_pair(w, right, slot_end(label, a, 1u), w->heap[sup + 1u]);
  heap_put(w, node, slot_end(label, a, 0u));
  heap_put(w, node + 1u, w->heap[sup]);
  heap_put(w, sup, term_new(tag, ext, node));
  heap_put(w, sup + 1u, term_new(tag, ext, right));
}

// A superposed label of a DSU or DDU: both other fields are duplicated.
FUNC void sup_float_label(THREAD Worker* w, uint tag) {
  const uint node = term_val(w->top), sup = term_val(w->hand), label = term_ext(w->hand);
  w->top = w->heap[node];
  const uint a = slot_new(w, w->heap[node + 1u]), b = slot_new(w, w->heap[node + 2u]);
  const uint right = heap_alloc(w, 3u);
  heap_pair(w, right, w->heap[sup + 1u], slot_end(label, a, 1u));
  heap_new(w, right + 2u, slot_end(label, b, 1u));
  heap_put(w, node, w->heap[sup]);
  heap_put(w, node + 1u, slot_end(label, a, 0u));
  heap_put(w, node + 2u, slot_end(label, b, 0u));
  heap_put(w, sup, term_new(tag, 0u, node));
  heap_put(w, sup + 1u, term_new(tag, 0u, right));
}

// ---- copying

// Copy the node in hand field by field: this end gets the node itself, the other a new one.
CALL void dup_fields(THREAD Worker* w, bool apply) {
  const Term t = w->hand;
  const uint n = term_arity(t), label = term_ext(w->top), side = term_tag(w->top) - F_DP0;
  if (n == 0u) {
    slot_publish_atom(w);
    return;
  }
  const uint from = term_val(t), copy = heap_alloc(w, n);
  for (uint i = 0u; i < n; i++) {
    const uint slot = slot_new(w, w->heap[from + i]);
    heap_put(w, from + i, slot_end(label, slot, side));
    heap_new(w, copy + i, slot_end(label, slot, 1u - side));
  }
  slot_publish(w, t, term_new(term_tag(t), term_ext(t), copy), apply);
}

// ---- equality

FUNC uint eql_left_tag(THREAD Worker* w) { return term_tag(static_or(w, w->heap[term_val(w->top) + 1u])); }

FUNC bool eql_left_is_name(THREAD Worker* w) {
  const uint tag = eql_left_tag(w);
  return tag == NAM || tag == BJV || tag == BJ0 || tag == BJ1;
}

FUNC void eql_answer(THREAD Worker* w, bool equal) {
  w->top = frame_parent(w);
  w->hand = term_num(equal ? 1u : 0u);
}

FUNC void eql_pair(THREAD Worker* w, uint node, Term a, Term b) {
  heap_put(w, node, a);
  heap_put(w, node + 1u, b);
}

// (a === p) .&. (b === q) … as frames, so that the first pair is compared next.
CALL void eql_fields(THREAD Worker* w, uint a, uint p, uint n) {
  const uint node = term_val(w->top);
  const Term first = w->heap[a], second = w->heap[p];
  Term parent = w->heap[node];
  for (uint i = n - 1u; i > 0u; i--) {
    const uint pair = heap_alloc(w, 2u);
    heap_pair(w, pair, w->heap[a + i], w->heap[p + i]);
    const uint both = heap_alloc(w, 2u);
    heap_pair(w, both, parent, term_new(EQL, 0u, pair));
    parent = term_new(F_AND, 0u, both);
  }
  heap_put(w, node, parent);
  heap_put(w, node + 1u, second);
  w->top = term_new(F_EQL, 0u, node);
  w->hand = first;
  w->apply = false;
}

// ---- guarded terms

// The body of a guarded term.
FUNC Term red_body(THREAD Worker* w, Term red) {
  if (term_tag(red) == ALO) return book_term(w, term_val(w->book[term_ext(red)]) + 1u, term_val(red));
  return w->heap[term_val(red) + 1u];
}

// The application above the guarded term whose body is in hand.
FUNC uint red_app(THREAD Worker* w) { return term_val(w->heap[term_val(w->top) + 1u]); }

// Share an argument between guard and body, under a label taken from the slot's place; atoms are simply copied.
CALL void red_share(THREAD Worker* w, Term a, THREAD Term* a0, THREAD Term* a1) {
  *a0 = a;
  *a1 = a;
  if (term_is_atom(term_tag(a))) return;
  const uint slot = slot_new(w, a);
  const uint label = 0xC00000u | ((slot >> 1) & 0x3FFFFFu);
  *a0 = slot_end(label, slot, 0u);
  *a1 = slot_end(label, slot, 1u);
}

CALL void red_dry(THREAD Worker* w) {
  const uint red = term_val(w->top), app = red_app(w);
  heap_put(w, red + 1u, w->hand);
  w->top = w->heap[app];
  heap_put(w, app, term_new(RED, 0u, red));
  w->hand = term_new(DRY, 0u, app);
}

FUNC bool red_mat_hits(THREAD Worker* w) {
  const Term red = w->heap[term_val(w->top) + 1u];
  return case_hits(static_or(w, w->heap[term_val(red) + 1u]), hand_static_or(w));
}

// No case fits: the body is the default now, and is applied to the argument.
CALL void red_miss(THREAD Worker* w, uint red) {
  const uint app = term_val(w->top);
  heap_put(w, red + 1u, case_field(w, w->heap[red + 1u], 1u));
  heap_put(w, app + 1u, w->hand);
  w->top = term_new(F_APP, 0u, app);
  w->hand = term_new(RED, 0u, red);
}

// (f ~> g)(&L{a, b}) with the two copies of g at hand.
CALL void red_sup_float(THREAD Worker* w, uint red, Term g0, Term g1) {
  const uint app = term_val(w->top), sup = term_val(w->hand), label = term_ext(w->hand);
  const uint f = slot_new(w, w->heap[red]);
  const uint red1 = heap_alloc(w, 2u), app1 = heap_alloc(w, 2u);
  w->top = w->heap[app];
  heap_put(w, red, slot_end(label, f, 0u));
  heap_put(w, red + 1u, g0);
  heap_pair(w, red1, slot_end(label, f, 1u), g1);
  heap_put(w, app, term_new(RED, 0u, red));
  heap_put(w, app + 1u, w->heap[sup]);
  heap_pair(w, app1, term_new(RED, 0u, red1), w->heap[sup + 1u]);
  heap_put(w, sup, term_new(APP, 0u, app));
  heap_put(w, sup + 1u, term_new(APP, 0u, app1));
}

// ---- operators (terms.md 7)

FUNC uint op2_compute(uint code, uint a, uint b) {
  switch (code) {
    case 0u:  return a + b;
    case 1u:  return a - b;
    case 2u:  return a * b;
    case 3u:  return b == 0u ? 0u : a / b;
    case 4u:  return b == 0u ? 0u : a % b;
    case 5u:  return a & b;
    case 6u:  return a | b;
    case 7u:  return a ^ b;
    case 8u:  return a << (b & 31u);
    case 9u:  return a >> (b & 31u);
    case 10u: return ~b;
    case 11u: return a == b ? 1u : 0u;
    case 12u: return a != b ? 1u : 0u;
    case 13u: return a < b ? 1u : 0u;
    case 14u: return a <= b ? 1u : 0u;
    case 15u: return a > b ? 1u : 0u;
    case 16u: return a >= b ? 1u : 0u;
    default:  return 0u;
  }
}
