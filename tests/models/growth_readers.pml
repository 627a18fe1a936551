/* Purpose: what the analyzer finds of growth.pml: after a kill at any instant, and beside a live process.
 *
 * The macros and the state that they use are in growth.pml, which includes this file.
 */

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
