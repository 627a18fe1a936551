// Purpose: how full the arenas are that CPython keeps its small objects in.
// Runs: in the constructor, and on the background thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memtrace::record {

// CPython's function that maps arenas: what is mapped from within it is one. Null: there is none.
void python_arenas_come_from(const void* function);
bool is_arena_mapper(const void* return_address);

struct ArenaFill {
  std::uint64_t used = 0; // by objects
  std::uint64_t free = 0; // of pools that were used once: headers and what is too small for one more, too
  std::uint64_t arenas = 0;
};

// What its pools say of one arena, read from beside it: it may be gone, or change meanwhile.
void look_at_arena(std::uint64_t address, std::uint64_t bytes, ArenaFill* out);

// Some of a process's arenas, evenly: each n-th. One at a time: their places are kept in a static buffer.
class SomeArenas {
 public:
  void add(std::uint64_t address, std::uint64_t bytes);
  // They fill slowly: what they said is good for half a second. `all`: every arena said something.
  ArenaFill look(bool* all) const;

 private:
  std::uint64_t seen_ = 0;
  std::uint64_t step_ = 1;
  std::size_t used_ = 0;
};
void forget_arena_fill(); // in a forked child

} // namespace memtrace::record
