// Purpose: the process group of PyTorch that a thread communicates in, and the name of each group.
// Runs: inside CUDA's calls and pthread_create; the names are set under the GIL.
//
// A collective has its group in a local variable of a Python frame. The bootstrap tells which functions and
// which variable, and what each group is called (python/process_groups.py). So no function needs a wrapper.
// NCCL's own threads have no Python frames: they belong to the group of the thread that made them
// (docs/decisions/0072).
#pragma once

#include <cstddef>
#include <cstdint>

#include "preload/format/records.h"

namespace memtrace::record {

// The key of a group: of its object, or of its name (stack/python_frames.h). 0: no group.
using GroupKey = std::uint64_t;

// Adds a function that has a group, or the name of one, in its local variable at `place`. Its code object must
// live as long as the process.
void add_group_call(const void* code, int place);
// True if there is such a function: without one, nothing here has to be asked.
bool groups_are_used();

// Forgets all names. An object may have died, and another may have its address.
void forget_groups();
// Sets the name of a group. If the table is full, the group has none.
void name_group(GroupKey group, format::TextId name);
// Returns the name of a group; TextId{0} if it has none, or none yet.
format::TextId name_of_group(GroupKey group);

// Returns the group of the innermost such call on the calling thread. A thread without Python has the group of
// the thread that made it. 0: none.
GroupKey group_of_this_thread();
// Called by the maker of a thread, with the address of the new thread's pthread_t. The new thread has the group
// of the caller. The new thread may have freed its pthread_t by now: then it has none.
void thread_was_made(const void* handle);
// Sets the group of the thread with this pthread_t; 0 removes it.
void set_group_of_thread(std::uint64_t made, GroupKey group);

// A block that was taken for a group. `name`: the one it has got; TextId{0}: none yet.
struct GroupBlock {
  std::uint64_t address;
  std::uint64_t bytes;
  GroupKey group;
  unsigned memory;
  format::TextId name;
};
// Keeps the block until the groups are named next. If the table is full, it keeps the name that it has.
void keep_group_block(const GroupBlock& block);
// True if a block came since the groups were named last.
bool has_new_group_blocks();
// Forgets the block, because it died.
void forget_group_block(std::uint64_t address, unsigned memory);
// Returns true, and the next block whose group has another name than the block. Call it after all groups are
// named, until it returns false: then all blocks with named groups are settled.
bool take_named_block(GroupBlock* out);

} // namespace memtrace::record
