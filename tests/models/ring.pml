/* Purpose: the protocol of the rings as a model: preload/ring/ring.cpp and drain_pass.cpp, and the reader of analyzer/decode/ring_reader.cpp.
 *
 * Every step below is one load, one store or one locked step of the code that is named beside it. Spin tries every
 * order of the steps of all processes. What the steps leave out, memory orders, is for the thread sanitizer
 * (tests/unit/preload/ring/ring_race_test.cpp). README.md lists the planted faults, each a macro.
 *
 * Holds: a record that was taken is in the file once, in order and unchanged, and is folded once, after what it
 * depends on. A reader that looks at any instant finds all that was taken before, in the ring or in the file.
 */
#ifndef RECORDS
#define RECORDS 3 /* that each thread tries to write */
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
#ifndef PASSES
#define PASSES 1 /* of the drain while threads write; it makes one more at the end */
#endif

#define NONE 255
#define COMMIT(slot, sequence) commit[(slot) * RING + (sequence) % RING]
#define VALUE(slot, sequence) value[(slot) * RING + (sequence) % RING]
#define STAMP(slot, sequence) stamp[(slot) * RING + (sequence) % RING]
#define WORD(thread, sequence) ((thread) * 16 + (sequence) + 1) /* what the payload of a record is */
#ifdef NO_CUT
#define BEFORE(stamp, cut) true
#else
#define BEFORE(stamp, cut) (stamp < cut)
#endif

/* The ring file. */
byte commit[SLOTS * RING], value[SLOTS * RING], stamp[SLOTS * RING];
byte slots = 0; /* in the header */
byte tid[SLOTS], owner[SLOTS], head[SLOTS], tail[SLOTS];
/* The trace file and the fold. */
byte in_file[THREADS], folded[THREADS];
/* Of the process. */
bit pass_lock = 0, slots_lock = 0, table_lock = 0;
bit ring_lock[SLOTS];
byte clock = 0;
byte slot_of[THREADS];
bit ended[THREADS];
byte run_next[SLOTS], run_end[SLOTS], run_owner[SLOTS];
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

/* drain_pass.cpp: pass(). The lock guards the runs, the file and the tails. */
inline pass(got) {
#ifdef NO_PASS_LOCK
  got = 1;
#else
  lock(pass_lock, got);
#endif
  if
  :: got ->
    atomic { clock++; cut = clock }
    for (i : 0 .. SLOTS - 1) { /* append() */
      run_next[i] = 0; run_end[i] = 0;
      if
      :: i < slots && tid[i] != 0 ->
        run_owner[i] = owner[i];
        next = tail[i];
        run_next[i] = next;
        do
        :: next - run_next[i] < RING && COMMIT(i, next) == next + 1 && BEFORE(STAMP(i, next), cut) ->
           /* code(): the payload of the segment */
           assert(VALUE(i, next) == WORD(run_owner[i], next));
           next++
        :: else -> break
        od;
        skip;
        d_step {
          if
          :: next != run_next[i] ->
            assert(in_file[run_owner[i]] == run_next[i]); /* no record twice, none left out */
            in_file[run_owner[i]] = next
          :: else
          fi;
          run_end[i] = next
        }
#ifdef TAIL_EARLY
        tail[i] = next
#endif
      :: else
      fi
    }
    do /* fold_runs(): by stamp */
    :: skip;
       d_step {
         least = NONE;
         for (i : 0 .. SLOTS - 1) {
           if
           :: run_next[i] != run_end[i] && (least == NONE || STAMP(i, run_next[i]) < STAMP(least, run_next[least])) -> least = i
           :: else
           fi
         }
       }
       if
       :: least == NONE -> break
       :: else ->
         d_step {
           assert(VALUE(least, run_next[least]) == WORD(run_owner[least], run_next[least]));
           assert(folded[run_owner[least]] == run_next[least]);
 #ifdef DEPENDS
          /* The first record of thread 1 is the death of what the first of thread 0 is the birth of. */
          assert(run_owner[least] != 1 || run_next[least] != 0 || folded[0] != 0 || taken[0] == 0);
#endif
           folded[run_owner[least]]++;
           run_next[least]++
         }
         if
         :: run_next[least] == run_end[least] -> tail[least] = run_end[least]
         :: else
         fi
       fi
    od;
#ifndef NO_PASS_LOCK
    unlock(pass_lock)
#endif
  :: else
  fi
}

/* ring.cpp: claim(). */
inline claim(me, got) {
  lock(slots_lock, got);
  if
  :: got ->
    i = 0;
    do
    :: i < slots && tid[i] != 0 -> i++
    :: else -> break
    od;
    if
    :: i == SLOTS -> got = 0 /* the bound is reached */
    :: else ->
#ifdef TID_FIRST
      tid[i] = me + 1;
#endif
      if
      :: i == slots -> slots++
      :: else
      fi;
#ifndef OLD_COMMITS
      for (j : 0 .. RING - 1) { commit[i * RING + j] = 0 }
#endif
      owner[i] = me;
      head[i] = sequence;
      tail[i] = sequence;
      slot_of[me] = i;
      tid[i] = me + 1
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
    for (k : 0 .. THREADS - 1) {
      if
      :: ended[k] && slot_of[k] != NONE ->
        slot = slot_of[k];
        lock(pass_lock, got);
        if
        :: got && tail[slot] == head[slot] -> slot_of[k] = NONE; tid[slot] = 0
        :: else
        fi;
        if
        :: got -> unlock(pass_lock)
        :: else
        fi
      :: else
      fi
    }
    unlock(table_lock)
  :: else
  fi
}

/* ring.cpp: ring_append(), RECORDS times. */
proctype Thread(byte me) {
  byte i, j, k, next, least, cut, sequence, slot, mine, tries;
  bit got;
#ifdef TURNS /* a thread begins when another has ended */
  me < SLOTS || ended[0];
  release_ended();
#endif
  do
  :: tries == RECORDS -> break
  :: else ->
    tries++;
#ifdef DEPENDS
    me != 1 || taken[0] != 0 || ended[0];
#endif
    atomic { clock++; mine = clock }
#ifdef SHARED
    slot = 0;
#ifdef NO_RING_LOCK
    got = 1;
#else
    lock(ring_lock[0], got);
#endif
    if
    :: !got -> goto lost
    :: else
    fi;
    sequence = head[0];
#else
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
#endif
    next = tail[slot];
    if
    :: sequence - next >= RING ->
      pass(got);
#ifndef NO_FULL
      if
      :: sequence - tail[slot] >= RING -> goto unlock_and_lose
      :: else
      fi
#endif
    :: else
    fi;
#ifdef COMMIT_FIRST
    COMMIT(slot, sequence) = sequence + 1;
#endif
    VALUE(slot, sequence) = WORD(owner[slot], sequence);
    STAMP(slot, sequence) = mine;
#ifndef COMMIT_FIRST
    COMMIT(slot, sequence) = sequence + 1;
#endif
#ifdef SHARED
    taken[0]++;
    head[slot] = sequence + 1;
    unlock(ring_lock[0]);
#else
    d_step { sequence++; taken[me] = sequence }
    head[slot] = sequence;
#endif
    goto done;
unlock_and_lose:
#ifdef SHARED
    unlock(ring_lock[0]);
#endif
lost:
    skip;
done:
    skip
  od;
  ended[me] = 1
}

/* drain_thread.cpp: run(), and what end_life() does after it. */
proctype Drain() {
  byte i, next, least, cut, passes;
  bit got;
  do
  :: passes == PASSES -> break
  :: else -> passes++; pass(got)
  od;
  for (i : 0 .. THREADS - 1) { ended[i] }
  pass(got);
  assert(got);
  for (i : 0 .. THREADS - 1) {
    assert(in_file[i] == taken[i]);
    assert(folded[i] == taken[i])
  }
}

/* The analyzer, at any instant: trace/rings.cpp, then trace/segments.cpp. */
#ifdef READER
proctype Reader() {
  byte i, j, t, who, first, again, last;
  byte commits[RING], values[RING], before[THREADS], left_first[THREADS], left_end[THREADS], file[THREADS];
  bit left[THREADS];
  d_step { for (i : 0 .. THREADS - 1) { before[i] = taken[i] } }
#ifdef FILE_FIRST
  d_step { for (i : 0 .. THREADS - 1) { file[i] = in_file[i] } }
#endif
  for (i : 0 .. SLOTS - 1) {
    t = 0;
retry:
    skip;
    d_step { again = tid[i]; who = owner[i]; first = tail[i] } /* one read of the slot's first 64 bytes */
    if
    :: i < slots && again != 0 ->
      for (j : 0 .. RING - 1) {
        commits[j] = commit[i * RING + j];
        values[j] = value[i * RING + j]
      }
      again = first;
#ifndef TAIL_ONCE
      d_step { again = tail[i]; last = owner[i] }
      if
      :: last != who || again < first ->
#ifndef OWNER_ONCE
         t++;
         if
         :: t < THREADS + 1 -> goto retry
         :: else -> assert(false)
         fi
#else
         again = first
#endif
      :: else
      fi;
#endif
      skip;
      d_step {
        last = again;
        do
        :: last - again < RING && commits[last % RING] == last + 1 ->
          assert(values[last % RING] == WORD(who, last)); /* what another thread recorded */
          last++
        :: else -> break
        od;
        left[who] = 1; left_first[who] = again; left_end[who] = last
      }
    :: else
    fi
  }
#ifndef FILE_FIRST
  skip;
  d_step { for (i : 0 .. THREADS - 1) { file[i] = in_file[i] } }
#endif
  skip;
  d_step {
    for (i : 0 .. THREADS - 1) {
      last = file[i];
      if
      :: left[i] ->
        assert(left_first[i] <= file[i]); /* no gap between the file and the ring */
        if
        :: left_end[i] > last -> last = left_end[i]
        :: else
        fi
      :: else
      fi;
      assert(last >= before[i])
    }
  }
}
#endif

init {
  byte t;
  atomic {
    for (t : 0 .. THREADS - 1) { slot_of[t] = NONE }
#ifdef SHARED
    slots = 1; tid[0] = 1;
#endif
    for (t : 0 .. THREADS - 1) { run Thread(t) }
    run Drain();
#ifdef READER
    run Reader()
#endif
  }
}
