/* Purpose: the protocol of a fork as a model: preload/process/fork.cpp and preload/drain/drain_thread.cpp.
 *
 * Threads that record and fork, the drain, and the children. A child has a copy of all words of the recorder as they
 * were at the instant of the fork, and one thread. README.md lists the planted faults, each a macro.
 *
 * Holds: a child never waits for a lock whose holder is not in the child; it finds the definitions whole; it writes to
 * no file of its parent; it can start a drain of its own. The parent never has two drains, retire_drain() returns, and
 * a drain runs again after the forks.
 */
#ifndef FORKERS
#define FORKERS 2
#endif

#ifndef FORKS
#define FORKS 1 /* of each thread; with more, what children find is not looked at */
#endif

#define LOCKS 3 /* of passes, of slots, of definitions */
#define DEFINITIONS 2
#define THE_DRAIN 9

byte holder[LOCKS]; /* 0: free; else who */
byte defined = 0, defined_too = 0; /* two words that change together under the lock of definitions */
bit control = 0, stop = 0, due = 0;
byte drains = 0; /* that run; the word `tid` is not 0 where it is not */
byte finished = 0;

/* What each child begins with. */
byte child_holder[FORKERS * LOCKS], child_defined[FORKERS], child_defined_too[FORKERS], child_drain[FORKERS];
bit child_knows[FORKERS], child_files[FORKERS];

/* SpinLock, held for a bounded time by whoever has it. */
inline take(which, me) { atomic { holder[which] == 0 -> holder[which] = me } }
inline give(which) { holder[which] = 0 }

inline start_drain() {
#ifdef TWO_STARTS
  mine = 1;
#else
  if
  :: atomic { control == 0 -> control = 1; mine = 1 }
  :: control == 1 -> mine = 0 /* somebody else is at it */
  fi;
#endif
  if
  :: mine ->
    due = 0;
    if
    :: drains == 0 ->
      stop = 0;
      atomic { assert(drains == 0); drains++; run Drain() }
    :: drains != 0 && stop -> due = 1 /* one that was told to end is in a slow write: again later */
    :: else
    fi;
    control = 0
  :: else
  fi
}

/* One record with all that it may need: a slot, a definition, a pass. Then keep_drain_running(). */
inline record(me) {
#if FORKS == 1
  take(1, me); give(1);
  take(DEFINITIONS, me);
  defined++;
  defined_too++;
  give(DEFINITIONS);
  take(0, me); give(0);
#endif
  if
  :: due -> start_drain()
  :: !due
  fi
}

inline retire_drain() {
  if
  :: drains == 0
  :: else ->
#ifdef STOP_ONCE
    stop = 1;
    drains == 0
#else
    do
    :: atomic { drains != 0 && !stop -> stop = 1 }
    :: drains == 0 -> break
    od
#endif
  fi
}

proctype Drain() {
  byte passes;
  do
  :: stop -> break
  :: passes == 0 -> passes++; take(0, THE_DRAIN); give(0)
  :: finished == FORKERS -> break /* the end of the model, not of the process */
  od;
  drains--
}

proctype Thread(byte n) {
  byte i, forks;
  bit mine;
again:
  record(n + 1);
#ifndef NO_RETIRE
  retire_drain();
#endif
#if !defined(NO_HOLD) && !defined(RAW)
  take(DEFINITIONS, n + 1);
#endif
  skip;
  d_step { /* fork */
#if FORKERS == 1
    assert(drains == 0); /* who counts threads sees the program's own */
#endif
    for (i : 0 .. LOCKS - 1) { child_holder[n * LOCKS + i] = holder[i] }
    child_defined[n] = defined; child_defined_too[n] = defined_too;
    child_drain[n] = drains; child_files[n] = 1;
#ifdef NO_WIPE
    child_knows[n] = 1 /* the page that says whose image this is came along */
#else
    child_knows[n] = 0
#endif
  }
#if FORKS == 1
  run Child(n);
#endif
#if !defined(NO_HOLD) && !defined(RAW)
  give(DEFINITIONS);
#endif
  due = 1;
  record(n + 1);
  forks++;
  if
  :: forks < FORKS -> goto again
  :: else
  fi;
  do /* the process goes on, until a drain runs again */
  :: drains != 0 || finished != 0 -> break
  :: due -> start_drain()
  od;
  finished++
}

/* begin_as_child(), by the handler of fork, or by the first hook that finds the wiped page. */
inline begin_as_child(n) {
  child_drain[n] = 0;
#ifdef KEEP_TID
  child_drain[n] = 1;
#endif
  child_files[n] = 0;
  for (i : 0 .. LOCKS - 1) {
#ifdef KEEP_LOCK
    if
    :: i != 0 -> child_holder[n * LOCKS + i] = 0
    :: else
    fi
#else
    child_holder[n * LOCKS + i] = 0
#endif
  }
  child_knows[n] = 1
}

proctype Child(byte n) {
  byte i;
#ifdef RAW
  if
  :: child_knows[n] -> assert(!child_files[n]) /* a pass over the rings of its parent */
  :: else -> begin_as_child(n)
  fi;
#else
  begin_as_child(n);
  assert(child_defined[n] == child_defined_too[n]);
#endif
  for (i : 0 .. LOCKS - 1) { assert(child_holder[n * LOCKS + i] == 0) }
  assert(!child_files[n]);
  assert(child_drain[n] == 0) /* start_drain() starts one */
}

init {
  byte t;
  atomic {
    drains = 1;
    run Drain();
    for (t : 0 .. FORKERS - 1) { run Thread(t) }
  }
}
