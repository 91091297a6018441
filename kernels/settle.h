// The end of a run: cells whose term can go on, because a variable was filled after they stopped at it.
//
// Invariants: nobody is at work; what is looked at is what the passes left; only slots that were stuck are changed.

FUNC bool settle_is_stuck(THREAD Worker* w, uint slot) {
  if ((atomic_read(slot_claim(w, slot)) & CLAIM_STUCK) != 0u) return true;
  if (w->slot_cells < 4u) return false;
  return ((atomic_read(slot_stamp(w, slot, 0u)) | atomic_read(slot_stamp(w, slot, 1u))) & ST_S) != 0u;
}

// Make a stuck slot free again: as it was when it was made.
FUNC void settle_release(THREAD Worker* w, uint slot) {
  atomic_write(slot_claim(w, slot), atomic_read(slot_claim(w, slot)) & ~(CLAIM_STUCK | CLAIM_VISITED));
  if (w->slot_cells < 4u) return;
  for (uint side = 0u; side < 2u; side++) {
    atomic_write(slot_stamp(w, slot, side), 0u);
    atomic_write(slot_waiter(w, slot, side), 0u);
  }
}

// Walk from a term in weak normal form to what it hangs on: can it go on? With `release`, slots on the way that were
// stuck become free again.
CALL bool settle_walk(THREAD Worker* w, Term t, bool release) {
  uint frame = F_ROOT;
  Term seen = (Term)0;  // of a cyclic term: Brent's tortoise
  uint steps = 0u, stride = 1u;
  for (;;) {
    if (t == seen) return false;
    if (++steps == stride) {
      seen = t;
      stride += stride;
      steps = 0u;
    }
    const uint tag = term_tag(t), loc = term_val(t);
    switch (tag) {
      case ALO: return true;
      case VAR: return binder_filled(w, loc);
      case REF: return w->roots[term_ext(t)] != 0u;
      case DP0: case DP1: {
        if (w->is_inside_pass && !heap_single(w)) return false;  // that slot is its owner's to look into
        const Term s = w->heap[loc];
        if ((s & SUB_BIT) != (ulong)0) return true;
        if (!settle_is_stuck(w, loc)) return term_tag(s) < F_ROOT;
        if (release) settle_release(w, loc);
        frame = F_DP0;
        t = s;
        break;
      }
      case APP: {
        const Term f = w->heap[loc];
        const uint is = term_tag(f);
        if (is == MAT || is == SWI || is == USE) {
          frame = is == USE ? F_USE : F_MAT;
          t = w->heap[loc + 1u];
        } else {
          frame = F_APP;
          t = f;
        }
        break;
      }
      case OP2: {
        const Term l = w->heap[loc];
        frame = term_tag(l) == NUM ? F_OPR : F_OPL;
        t = term_tag(l) == NUM ? w->heap[loc + 1u] : l;
        break;
      }
      case AND: frame = F_AND; t = w->heap[loc]; break;
      case OR:  frame = F_OR;  t = w->heap[loc]; break;
      case DSU: frame = F_DSU; t = w->heap[loc]; break;
      case DDU: frame = F_DDU; t = w->heap[loc]; break;
      default:
        if (frame == F_ROOT) return false;
        if (step_has_rule(frame, tag)) return true;
        return (frame == F_APP && (tag == NAM || tag == BJV || tag == DRY)) ||
               (frame == F_MAT && (tag == NAM || tag == BJV || tag == DRY || tag == RED));
    }
  }
}

ENTRY(settle_frontier)(
    BUFFER(const Params, params, 0), BUFFER(ulong, heap, 1), BUFFER(const uint, roots, 2),
    BUFFER(uint, work, 3), BUFFER(uint, found, 4), BUFFER(uint, io, 5), BUFFER(uint, seen, 6),
    BUFFER(ulong, log, 7), BUFFER(uchar, marks, 8), GRID_INDEX) {
  GRID_INDEX_BODY
  if (index >= 1u) return;
  // io: in root cell, size of work, size of found; out status (0 ok, 1 grow), number found. seen: a bit a cell, zero
  Worker worker;
  THREAD Worker* w = &worker;
  heap_bind(w, heap, log, marks, 0, params->threads, 0u);
  w->roots = roots;
  w->is_inside_pass = false;
  w->flags = params->flags & ~PARAM_LIVE; w->now = ST_PASS; w->me = 0u; w->slot_cells = params->slot_cells;
  const uint work_size = io[1], found_size = io[2];
  uint depth = 0u, count = 0u, status = 0u;
  work[depth++] = io[0];
  while (depth > 0u && status == 0u) {
    const uint cell = work[--depth], bit = 1u << (cell & 31u);
    if ((seen[cell >> 5] & bit) != 0u) continue;  // shared, or the term is cyclic
    seen[cell >> 5] |= bit;
    const Term t = heap[cell];
    if ((t & SUB_BIT) != (ulong)0) continue;
    if (settle_walk(w, t, false)) {
      if (count == found_size) status = 1u;
      else found[count++] = cell;
      continue;
    }
    const uint tag = term_tag(t);
    const uint n = tag == DP0 || tag == DP1 ? 1u : term_arity(t);
    if (depth + n > work_size) { status = 1u; break; }
    for (uint i = n; i > 0u; i--) work[depth++] = term_val(t) + i - 1u;
  }
  if (status == 0u) for (uint i = 0u; i < count; i++) settle_walk(w, heap[found[i]], true);
  heap_unbind(w);
  io[3] = status;
  io[4] = count;
}

// Sizes of the shared structs, for the host to compare with its own.
ENTRY(layout_sizes)(BUFFER(uint, out, 0), GRID_INDEX) {
  GRID_INDEX_BODY
  if (index >= 1u) return;
  out[0] = (uint)sizeof(Params);
  out[1] = (uint)sizeof(ThreadState);
  out[2] = (uint)sizeof(Record);
  out[3] = (uint)sizeof(Event);
  out[4] = (uint)sizeof(Summary);
}
