// The 64-bit term: SUB | TAG | EXT | VAL, its makers and getters.
//
// Invariants: a term in hand never has SUB set; the zero word is no term.
// Tags below 64 are HVM4's; tags from 64 up are frames: they say where the term in hand goes and lie in the node
// that is being reduced, never in a field that anyone else may read.

typedef ulong Term;

// terms, numbered as in HVM4
#define APP 0u
#define VAR 1u
#define LAM 2u
#define DP0 3u
#define DP1 4u
#define SUP 5u
#define DUP 6u
#define ALO 7u   // unboxed closure: EXT = book cell, VAL = environment
#define REF 8u
#define NAM 9u
#define DRY 10u
#define ERA 11u
#define MAT 12u
#define C00 13u
#define C16 29u
#define NUM 30u
#define SWI 31u
#define USE 32u
#define OP2 33u
#define DSU 34u
#define DDU 35u
#define RED 36u
#define EQL 37u
#define AND 38u
#define OR  39u
#define UNS 40u
#define ANY 41u
#define INC 42u
#define BJV 43u
#define BJ0 44u
#define BJ1 45u
#define PRI 46u

// frames: the parent frame lies in the first field of the node, unless said otherwise
#define F_ROOT 64u  // VAL = cell whose weak normal form is wanted; no parent
#define F_APP  65u  // function wanted; field 1 is the argument
#define F_MAT  66u  // argument wanted; field 1 is the case function (MAT or SWI)
#define F_USE  67u  // argument wanted; field 1 is the strict function
#define F_DP0  68u  // expression of the slot VAL wanted by its end 0; the parent lies in the slot
#define F_DP1  69u
#define F_OPL  70u  // left operand wanted; EXT = operator, field 1 is the right operand
#define F_OPR  71u  // right operand wanted; field 1 is the left number
#define F_EQL  72u  // left side wanted; field 1 is the right side
#define F_EQR  73u  // right side wanted; field 1 is the left side, reduced
#define F_AND  74u  // left side wanted; field 1 is the right side
#define F_OR   75u
#define F_DSU  76u  // label wanted; fields 1 and 2 are the sides
#define F_DDU  77u  // label wanted; fields 1 and 2 are value and body
#define F_RED  78u  // body of the RED VAL wanted; the parent, an F_APP, lies in field 1
#define F_RMA  79u  // argument wanted; field 1 is a RED whose body is a MAT or SWI
#define F_RUS  80u  // argument wanted; field 1 is a RED whose body is a USE
// frames of collapsing (lift.h); the parent lies in a cell of their own
#define F_LROOT 81u  // VAL = cell whose first superposition is wanted at the top; no parent
#define F_LNODE 82u  // VAL = frame cells [parent][node][depth << 32 | field]
#define F_LLAM  83u  // VAL = frame cells [parent][unused][depth << 32]

#define FORKED 84u  // in field 1 of an OP2 under F_OPL: the right operand is being reduced in the join VAL (fork.h)

#define LAM_ERA 0x800000u  // in EXT of LAM: the variable has no occurrence and no environment entry
#define PRI_GNF 1u  // id of %gnf
#define SUB_BIT ((ulong)1 << 63)
#define EXT_MASK 0xFFFFFFu

// built-in constructors
#define K_ZER 215020u
#define K_SUC 187357u
#define K_NIL 166118u
#define K_CON 121448u
#define K_CHR 121004u

FUNC Term term_new(uint tag, uint ext, uint val) { return ((ulong)tag << 56) | ((ulong)ext << 32) | (ulong)val; }
FUNC uint term_tag(Term t) { return (uint)(t >> 56) & 0x7Fu; }
FUNC uint term_ext(Term t) { return (uint)(t >> 32) & EXT_MASK; }
FUNC uint term_val(Term t) { return (uint)t; }
FUNC Term term_num(uint n) { return term_new(NUM, 0u, n); }
FUNC Term term_retag(Term t, uint tag) { return (t & ~((ulong)0x7F << 56)) | ((ulong)tag << 56); }

FUNC bool term_is_ctr(uint tag) { return tag >= C00 && tag <= C16; }

// Number of field cells of a node. (Primitives are the host's: their nodes are never copied or visited here.)
FUNC uint term_arity(Term t) {
  const uint tag = term_tag(t);
  if (term_is_ctr(tag)) return tag - C00;
  switch (tag) {
    case LAM: case USE: case INC: case UNS: return 1u;
    case APP: case SUP: case DRY: case MAT: case SWI: case OP2: case RED: case EQL: case AND: case OR: return 2u;
    case DSU: case DDU: return 3u;
    default:  return 0u;
  }
}

// An atom is whole in its word: it may be copied freely.
FUNC bool term_is_atom(uint tag) {
  return tag == NUM || tag == ERA || tag == NAM || tag == ANY || tag == C00 || tag == BJV;
}
