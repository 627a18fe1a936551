// Purpose: measures how full the arenas are in which CPython keeps its small objects.
// Runs: in the constructor, and on the background thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memtrace::record {

// Sets CPython's function that maps arenas: each mapping from within it is an arena. Null: there is no such
// function.
void python_arenas_come_from(const void* function);
bool is_arena_mapper(const void* return_address);

struct ArenaFill {
  std::uint64_t used = 0; // by objects
  std::uint64_t free = 0; // in pools that have been used; includes headers and remainders
  std::uint64_t arenas = 0;
};

// Adds the figures of one arena's pools. The copy is made without a lock: the arena may vanish or change
// meanwhile.
void look_at_arena(std::uint64_t address, std::uint64_t bytes, ArenaFill* out);

// A sample of a process's arenas: every n-th one. Only one object may exist at a time, because the addresses
// are in a static buffer.
class SomeArenas {
 public:
  void add(std::uint64_t address, std::uint64_t bytes);
  // Arenas fill slowly, so a result is reused for half a second, or longer if a look takes long. `all`: every
  // arena is included.
  ArenaFill look(bool* all) const;

 private:
  std::uint64_t seen_ = 0;
  std::uint64_t step_ = 1;
  std::size_t used_ = 0;
};
void forget_arena_fill(); // in a forked child

} // namespace memtrace::record
