/* Purpose: the steps by which rings move in growth.pml: how they are taken, grown, given back and passed over.
 *
 * The macros and the state that they use are in growth.pml, which includes this file.
 */

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
