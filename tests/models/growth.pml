/* Purpose: rings that grow, are taken back and are given back, as a model: preload/ring/ring.cpp, ring_file.cpp and drain_pass.cpp.
 *
 * ring.pml has the records' order, the cut and the locks of one ring for each thread. Here a thread moves from ring to
 * ring, and chunks go from thread to thread. Every step is one load, one store or one locked step of the code that is
 * named beside it. All rings have the same size here. A thread may move with its first record and while any record
 * waits; the code moves when the ring is half full, which is one of these cases. README.md lists the planted faults,
 * each a macro.
 *
 * Holds: a record that was taken is in the file once, in order and unchanged. A process that is killed at any instant
 * leaves all that it recorded, in the file or in the ring that the slot names. A reader of a live file finds all that
 * was recorded before it began, and nothing of another thread's.
 */
#ifndef RECORDS
#define RECORDS 3 /* that each thread tries to write */
#endif
#ifndef OTHERS
#define OTHERS RECORDS /* the same of all threads but the first */
#endif
#ifndef RING
#define RING 2 /* records of a ring */
#endif
#ifndef THREADS
#define THREADS 2
#endif
#ifndef SLOTS
#define SLOTS 2
#endif
#ifndef CHUNKS
#define CHUNKS 2 /* each holds one ring */
#endif
#ifndef PASSES
#define PASSES 1 /* of the drain while threads write; it makes one more at the end */
#endif

#ifdef WHOLE_PASSES /* a pass is one step: for what depends on its result alone */
#define BEGIN_PASS atomic {
#define END_PASS }
#else
#define BEGIN_PASS
#define END_PASS
#endif

#define NONE 255
/* The ring of a word: 0 is the slot's own, else a chunk. */
#define CHUNK(word) ((word) - 1)
#define PLACE(slot, word, sequence) (((word) == 0 -> (slot) : SLOTS + CHUNK(word)) * RING + (sequence) % RING)
#define WORD(thread, sequence) ((thread) * 16 + (sequence) + 1) /* what the payload of a record is */

/* The ring file. */
byte commit[(SLOTS + CHUNKS) * RING], value[(SLOTS + CHUNKS) * RING];
byte tid[SLOTS], owner[SLOTS], head[SLOTS], tail[SLOTS], file_ring[SLOTS];
bit writing[SLOTS];
/* The trace file. */
byte in_file[THREADS];
/* Of the process. */
bit pass_lock = 0, slots_lock = 0, table_lock = 0, is_short = 0;
byte ring[SLOTS]; /* ring_file.cpp: rings[] */
bit used[CHUNKS], outgrown[CHUNKS];
byte slot_of[THREADS];
bit ended[THREADS];
byte run_first[SLOTS], run_end[SLOTS], run_ring[SLOTS];
/* Not of the code: what is to be compared. */
byte taken[THREADS];

#include "growth_rings.pml"

/* ring.cpp: ring_append(), RECORDS times. */
proctype Thread(byte me) {
  byte i, j, k, next, sequence, slot, mine, tries;
  bit got;
#ifdef TURNS /* a thread begins when another has ended */
  me < SLOTS || ended[0];
  release_ended();
#endif
  do
  :: tries == (me == 0 -> RECORDS : OTHERS) -> break
  :: else ->
    tries++;
    if
    :: slot_of[me] == NONE ->
      claim(me, got);
      if
      :: !got -> goto lost
      :: else
      fi
    :: else
    fi;
    slot = slot_of[me];
    atomic { writing[slot] == 0 -> writing[slot] = 1 } /* the code gives up in the end: an event that is lost */
#ifndef NO_LOOK
    if
    :: ring[slot] != mine -> mine = 0 /* taken back */
    :: else
    fi;
#endif
    if
    :: true
    :: mine != 0 || sequence == 0 || sequence != tail[slot] -> grow(got)
    fi;
    next = tail[slot];
    if
    :: sequence - next >= RING ->
      next = 0;
      pass(got);
      if
      :: sequence - tail[slot] >= RING -> writing[slot] = 0; goto lost
      :: else
      fi
    :: else
    fi;
    next = 0;
    value[PLACE(slot, mine, sequence)] = WORD(me, sequence);
    d_step { commit[PLACE(slot, mine, sequence)] = sequence + 1; sequence++; taken[me] = sequence }
    head[slot] = sequence;
    writing[slot] = 0;
lost:
    skip;
    got = 0
  od;
  skip;
  d_step { slot = 0; mine = 0; sequence = 0; tries = 0 }
  ended[me] = 1
}

/* drain_thread.cpp: run(), and what end_life() does after it. */
proctype Drain() {
  byte i, next, passes;
  bit got;
  do
  :: passes == PASSES -> break
  :: else -> passes++; pass(got)
  od;
  for (i : 0 .. THREADS - 1) { ended[i] }
  pass(got);
  assert(got);
  d_step { for (i : 0 .. THREADS - 1) { assert(in_file[i] == taken[i]) } }
}

/* All other threads as one, as far as a reader of this one's slot can tell: leases a chunk, writes records of any
 * sequence there, and gives it back. */
#ifdef STRANGER
proctype Stranger() {
  byte j, from, turns;
  do
  :: turns == STRANGER -> break
  :: else ->
    turns++;
    if
    :: d_step { slots_lock == 0 && !used[0] -> used[0] = 1; for (j : 0 .. RING - 1) { commit[SLOTS * RING + j] = 0 } j = 0 }
       if
       :: from = 0
       :: from = RING
       fi;
       j = 0;
       do
       :: j == RING -> break
       :: else -> value[SLOTS * RING + j] = NONE; commit[SLOTS * RING + j] = from + j + 1; j++
       od;
       atomic { pass_lock == 0 && slots_lock == 0 -> used[0] = 0; from = 0; j = 0 }
    :: d_step { slots_lock == 0 && used[0] -> is_short = 1 }
    fi
  od
}
#endif

#include "growth_readers.pml"

init {
  byte t;
  atomic {
    for (t : 0 .. THREADS - 1) { slot_of[t] = NONE }
    for (t : 0 .. THREADS - 1) { run Thread(t) }
    run Drain();
#ifdef KILL
    run Kill();
#endif
#ifdef STRANGER
    run Stranger();
#endif
#ifdef READER
    run Reader(0)
#endif
  }
}
