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

/* SpinLock::lock(): waits with a bound, so it may fail while another has it. */
inline lock(which, got) {
  if
  :: atomic { which == 0 -> which = 1; got = 1 }
  :: which == 1 -> got = 0
  fi
}
inline unlock(which) { which = 0 }

/* ring_file.cpp: give_back_ring(). Slots lock held. */
inline free_ring(word) {
  d_step {
    if
    :: word != 0 -> used[CHUNK(word)] = 0
    :: else
    fi
  }
}

/* ring_file.cpp: set_ring(). Two stores: what a pass reads, and what a reader of the file reads. */
inline set_ring(at, word) {
  ring[at] = word;
  file_ring[at] = word
}

/* ring.cpp: take_back_if_short(). Pass lock held. */
inline take_back(at) {
  if
  :: ring[at] != 0 && is_short ->
    if
    :: atomic { slots_lock == 0 -> slots_lock = 1 }
      if
#ifdef NO_HOLD
      :: true ->
#else
      :: atomic { writing[at] == 0 -> writing[at] = 1 }
#endif
        if
#ifdef NO_SECOND_LOOK
        :: true ->
#else
        :: head[at] == tail[at] ->
#endif
          free_ring(ring[at]);
          set_ring(at, 0)
        :: else
        fi;
#ifndef NO_HOLD
        writing[at] = 0
      :: writing[at] == 1
#endif
      fi;
      unlock(slots_lock)
    :: slots_lock == 1
    fi
  :: else
  fi
}

/* drain_pass.cpp: pass(). */
inline pass(got) {
  BEGIN_PASS
  lock(pass_lock, got);
  if
  :: got ->
    i = 0;
    do
    :: i == SLOTS -> break
    :: else -> /* append() */
      run_first[i] = 0; run_end[i] = 0;
      if
      :: tid[i] != 0 ->
        run_ring[i] = ring[i];
        next = tail[i];
        run_first[i] = next;
        do
        :: next - run_first[i] < RING && commit[PLACE(i, run_ring[i], next)] == next + 1 ->
           assert(value[PLACE(i, run_ring[i], next)] == WORD(owner[i], next));
           next++
        :: else -> break
        od;
        if
        :: next != run_first[i] ->
          d_step {
            assert(in_file[owner[i]] == run_first[i]); /* no record twice, none left out */
            in_file[owner[i]] = next;
            run_end[i] = next
          }
        :: else -> run_end[i] = next; take_back(i)
        fi
      :: else
      fi;
      i++
    od;
    i = 0;
    do /* fold_runs() */
    :: i == SLOTS -> break
    :: else ->
      next = run_first[i];
      do
      :: next != run_end[i] ->
         assert(value[PLACE(i, run_ring[i], next)] == WORD(owner[i], next)); /* still what was appended */
         next++
      :: else -> break
      od;
      if
      :: run_first[i] != run_end[i] -> tail[i] = run_end[i]
      :: else
      fi;
      d_step { run_first[i] = 0; run_end[i] = 0; run_ring[i] = 0; next = 0 }
      i++
    od;
    i = 0;
    is_short = 0; /* settle_rings() */
    lock(slots_lock, got);
    if
    :: got ->
      d_step {
        for (i : 0 .. CHUNKS - 1) {
          if
          :: outgrown[i] -> outgrown[i] = 0; used[i] = 0
          :: else
          fi
        }
        i = 0
      }
      unlock(slots_lock)
    :: else
    fi;
    got = 1;
    unlock(pass_lock)
  :: else
  fi
  END_PASS
}

/* ring.cpp: claim(). */
inline claim(me, got) {
  lock(slots_lock, got);
  if
  :: got ->
    d_step {
      i = 0;
      do
      :: i < SLOTS && tid[i] != 0 -> i++
      :: else -> break
      od
    }
    if
    :: i == SLOTS -> got = 0 /* the bound is reached */
    :: else ->
      d_step { for (j : 0 .. RING - 1) { commit[i * RING + j] = 0 } j = 0 }
      owner[i] = me;
      d_step { head[i] = sequence; tail[i] = sequence; slot_of[me] = i; mine = 0 }
      tid[i] = me + 1
    fi;
    i = 0;
    unlock(slots_lock)
  :: else
  fi
}

/* ring.cpp: grow(). Slot held. */
inline grow(got) {
  lock(slots_lock, got);
  if
  :: got ->
    d_step { /* ring_file.cpp: lease_ring() */
      i = 0;
      do
      :: i < CHUNKS && used[i] -> i++
      :: else -> break
      od;
      if
      :: i < CHUNKS ->
        used[i] = 1;
#ifndef OLD_COMMITS
        for (j : 0 .. RING - 1) { commit[(SLOTS + i) * RING + j] = 0 }
        j = 0;
#endif
        next = i + 1
      :: else -> next = 0; is_short = 1
      fi;
      i = 0
    }
    if
    :: next != 0 ->
#ifdef PUBLISH_FIRST
      set_ring(slot, next);
#endif
      i = tail[slot];
      d_step { /* nobody else reads the new ring yet, nobody writes to what waits in the old one */
#ifdef SHORT_COPY
        if
        :: i != sequence -> i++
        :: else
        fi;
#endif
        do
        :: i != sequence ->
          commit[PLACE(slot, next, i)] = commit[PLACE(slot, mine, i)];
          value[PLACE(slot, next, i)] = value[PLACE(slot, mine, i)];
          i++
        :: else -> break
        od;
        i = 0
      }
#ifndef PUBLISH_FIRST
      set_ring(slot, next);
#endif
      d_step {
        if
        :: mine != 0 ->
#ifdef FREE_AT_ONCE
          used[CHUNK(mine)] = 0
#else
          outgrown[CHUNK(mine)] = 1
#endif
        :: else
        fi;
        mine = next; next = 0
      }
    :: else -> got = 0
    fi;
    unlock(slots_lock)
  :: else
  fi
}

/* ring.cpp: ring_release(), for threads that have ended, by one that begins. The threads lock is held. If records
   wait in a slot, it is left for later: the drain, or the thread that found it, makes a pass without that lock. */
inline release_ended() {
  pass(got);
  lock(table_lock, got);
  if
  :: got ->
    k = 0;
    do
    :: k == THREADS -> break
    :: else ->
      if
      :: ended[k] && slot_of[k] != NONE ->
        slot = slot_of[k];
#ifdef NO_PASS_LOCK
        got = 1;
#else
        lock(pass_lock, got);
#endif
        if
        :: got ->
          if
          :: tail[slot] == head[slot] ->
            lock(slots_lock, got);
            if
            :: got ->
              free_ring(ring[slot]);
#ifndef KEEP_RING
              set_ring(slot, 0);
#endif
              slot_of[k] = NONE;
              tid[slot] = 0;
              unlock(slots_lock)
            :: else
            fi
          :: else
          fi;
#ifndef NO_PASS_LOCK
          unlock(pass_lock)
#endif
        :: else
        fi
      :: else
      fi;
      k++
    od;
    k = 0;
    slot = 0;
    unlock(table_lock)
  :: else
  fi
}

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

/* SIGKILL at any instant: what the analyzer finds then in the files. */
#ifdef KILL
proctype Kill() {
  byte i, next, found[THREADS];
  d_step {
    for (i : 0 .. THREADS - 1) { found[i] = in_file[i] }
    for (i : 0 .. SLOTS - 1) {
      if
      :: tid[i] != 0 ->
        next = tail[i];
        assert(next <= in_file[owner[i]]); /* no gap between the file and the ring */
        do
        :: next - tail[i] < RING && commit[PLACE(i, file_ring[i], next)] == next + 1 ->
          assert(value[PLACE(i, file_ring[i], next)] == WORD(owner[i], next));
          next++;
          if
          :: next > found[owner[i]] -> found[owner[i]] = next
          :: else
          fi
        :: else -> break
        od
      :: else
      fi
    }
    for (i : 0 .. THREADS - 1) { assert(found[i] == taken[i]) }
  }
}
#endif

/* The analyzer beside a live process: trace/rings.cpp, then trace/segments.cpp. One slot, at any instant. */
#ifdef READER
#define LOOK d_step { who = owner[at]; there = tid[at] != 0; first = tail[at]; word = file_ring[at]; \
    for (j : 0 .. RING - 1) { own[j] = commit[at * RING + j] } j = 0 }
proctype Reader(byte at) {
  byte j, who, first, word, again, last, tries, before, file;
  byte commits[RING], values[RING], own[RING];
  bit there, same;
  d_step { before = taken[owner[at]] }
  LOOK; /* one read of the slot and of the records that follow it */
retry:
  skip;
  if
  :: !there
  :: else ->
    j = 0;
    do
    :: j == RING -> break
    :: else -> d_step { commits[j] = commit[PLACE(at, word, j)]; values[j] = value[PLACE(at, word, j)]; j++ }
    od;
    skip;
    d_step { /* the slot again */
      again = tail[at];
      same = owner[at] == who && tid[at] != 0;
#ifndef RING_ONCE
      same = same && file_ring[at] == word;
#endif
#ifndef OWN_ONCE
      /* A ring that was taken back and had again: meanwhile the slot's own records have changed. */
      j = 0;
      do
      :: j < RING -> same = same && (word == 0 || own[j] == commit[at * RING + j]); j++
      :: else -> break
      od;
#endif
      j = 0
    }
    if
    :: !same && tries < 2 -> d_step { tries++; again = 0 } LOOK; goto retry
    :: !same && tries == 2 -> goto gave_up /* a slot that changes each time is said to be cut */
    :: same
    fi;
    d_step {
      last = again;
      do
      :: last - again < RING && commits[last % RING] == last + 1 ->
        assert(values[last % RING] == WORD(who, last)); /* what another thread recorded */
        last++
      :: else -> break
      od
    }
    d_step {
      file = in_file[who];
      assert(again <= file); /* no gap between the file and the ring */
      assert((last > file -> last : file) >= before)
    }
  fi;
gave_up:
  skip
}
#endif

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
