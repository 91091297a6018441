// Words shared with the host: parameters of a pass, a thread's state, a task's record, items of the next frontier.
//
// Invariants: every field is 32 bits wide; the host mirrors these in hvm4viz/kernel_text/abi.py and checks the sizes.
// Codes of outcomes, reasons and origins mirror hvm4viz/events.py.

struct Params {
  uint threads;        // logical threads in the grid
  uint tpb_shift;      // log2 threads_per_block
  uint region_shift;   // log2 region_size
  uint slice_shift;    // log2 cells of one thread's slice of a region
  uint now;            // pass + 1
  uint fuel;           // interactions an entry may spend in this pass
  uint slot_cells;     // cells of a slot: 2 when one thread owns everything, else 4
  uint lam_cells;      // cells of a lambda's binder: 2 or 3, likewise
  uint rules;          // number of rules
  uint flags;          // PARAM_*
  uint shard;          // SHARD_*: who gets fresh entries
  uint slack;          // items a thread may emit beyond one an entry
  uint poll;           // unused by dup="owner"
  uint regions;        // regions in use
  uint width;          // entries of this pass
  uint spare;
};
#define SHARD_INDEX 0u    // threads in turn
#define SHARD_ADDRESS 1u  // the owner of their cell
#define SHARD_IDLE 2u     // threads that have no other entry, then all in turn
#define PARAM_SINGLE 1u  // one thread: nothing is ever foreign
#define PARAM_COUNT  2u  // count rules and remote linear writes
#define PARAM_LIFT   4u  // collapse: tasks bring the first superposition of their cell to the top
#define PARAM_CLAIM  32u // dup="claim": two-sided stamps
#define PARAM_ATOMIC 64u // dup="atomic": any thread takes
#define PARAM_BLOCK  128u // owner_unit="block": any thread of the owner block takes
#define PARAM_LIVE   256u // visibility="live": a publication counts as soon as it is seen
#define PARAM_FORK   1024u // fork="auto": right operands may become tasks of their own
#define PARAM_RETURN 512u // defer="return": a task that hopped is dealt again once its slot is resolved
#define PARAM_WEAK   16u // the CPU evaluator wants weak normal form only: no children
#define PARAM_ALONE  8u  // the CPU evaluator: primitives are left to the host, %gnf too

struct ThreadState {
  uint next, end, region;         // allocation: free cells [next, end) of the thread's slice of region
  uint first, count, done;        // its segment of the frontier, and how many of its entries ran; poisoned before a pass
  uint out, out_max, out_count;   // its list of items
  uint need, need_node;           // starved: cells wanted, longest node among them
  uint counted_lo, counted_hi;    // interactions counted in this pass
  uint longest;                   // most interactions charged to one entry
  uint opens;                     // tasks that ended at an open variable or a stuck end
  uint fills;                     // binders filled that a task may have stopped at
};

struct Record {
  Term top;      // innermost frame
  Term hand;     // term in hand; SUB_BIT set: weak normal form, apply it
  uint root;     // root cell of the task
  uint flags;    // RECORD_*
  uint place;    // book cell last entered (for messages)
  uint home;     // thread that suspended it
};
#define RECORD_NEW  1u  // never ran: hand is the root's word
#define RECORD_ERROR_SHIFT 8u  // kind of runtime error: 1 applied a number, 2 a constructor, 3 a kernel fault
#define RECORD_DEAD 16u   // done, but an entry still names it
#define RECORD_FORK 64u   // a forked operand: its root is a join
#define RECORD_RAMP_SHIFT 16u  // how often the task made room for others, 4 bits
#define RECORD_AWAY 32u   // hopped: under defer="return" it is dealt again once the slot is resolved
#define RECORD_KEPT 128u  // it waits for itself (a cyclic term): it goes on although its fork is cancelled
#define RECORD_NAMED 0x01000000u  // one entry that wakes or polls it; the join counts them in the top byte
#define RECORD_NAMED_MASK 0xFF000000u
#define RECORD_REENTER 8u // stalled: the slot it waits for is its own, evaluate that slot's closure once more
#define RECORD_LIFTED 4u  // the term in hand is a lifted result on its way up
#define RECORD_SLOT 2u  // the root is a stuck slot: its term is in weak normal form, visit the children

struct Event {
  uint actor, loc, slot, interactions, cells, codes;  // codes: outcome | reason << 8 | side << 16 | origin << 24
};

// items: kind << 60 | thread or count << 32 | record or cell
#define ITEM_SUSPEND 1u
#define ITEM_HOP     2u
#define ITEM_WAKE    3u
#define ITEM_FRESH   4u  // count: children, plus ITEM_SLOT
#define ITEM_POLL    5u
#define ITEM_SLOT    0x100u    // the cell is a stuck slot: its term is visited once
#define ITEM_ADMITTED 0x200u   // and this is that once
#define ITEM_HOP_BLOCK 6u      // to a block: its next thread in turn
#define ITEM_RAMP_SHIFT 12u    // ramp of a forked operand, 4 bits
#define ITEM_FORK 0x400u       // the cell is a join: its task is a forked operand
#define ITEM_AWAIT 8u          // the task waits for the fork below it; count: whether that is cancelled
#define ITEM_JOINED 9u         // the task of a join is done
#define ITEM_DROP 10u          // nobody needs the task of a join any more
#define ITEM_UNPARK 11u        // written by the join: the waiting task goes on
#define ITEM_NONE 0u           // written by the join: nothing more to do
#define ITEM_DEAL 7u           // a task that is dealt again, like a fresh one

// frontier entries: origin << 60 | thread << 32 | record
#define FROM_FRESH  0u
#define FROM_RESUME 1u
#define FROM_HOP    2u
#define FROM_WAKE   3u
#define FROM_POLL   4u
#define FROM_JOIN   5u

#define OUT_UNRUN 0u
#define OUT_DONE 1u
#define OUT_DEFERRED 2u
#define OUT_CONTENDED 3u
#define OUT_FORKED 4u
#define OUT_FUEL 5u
#define OUT_STARVED 6u
#define OUT_PARKED 7u
#define OUT_STALE 8u
#define OUT_ABORTED 9u
#define OUT_ERROR 10u
#define OUT_RETURNED 11u

#define WHY_NONE 0u
#define WHY_TAKE 1u
#define WHY_PUBLISH 2u
#define WHY_RELEASE 3u
#define WHY_BUSY 4u
#define WHY_CLAIM 5u

// what the join tells the host; the first word is poisoned before each pass
struct Summary {
  uint status;                     // SUM_*
  uint frontier;                   // entries of the next frontier
  uint parked;                     // tasks that stand on no frontier
  uint starved;                    // threads that wait for cells
  uint interactions_lo, interactions_hi;
  uint longest;
  uint ran;                        // entries that ran
  uint stopped;                    // 1 + frontier index of the first task that ended aborted or in error
  uint opens, fills;               // of this pass
  uint items_need, records_need;   // what the buffers must hold
  uint deferred;                   // tasks that ended the pass deferred
  uint records;                    // records handed out so far (high-water mark)
  uint free;                       // records on the free stack
};
#define SUM_POISON 0xDEADBEEFu
#define SUM_JOINED 2u
#define SUM_GROW   3u
#define SUM_DEALT  5u  // there is room: entries may be placed (deal.h)
#define SUM_LOST   4u  // threads that had entries left no word of having run: ran says how many
