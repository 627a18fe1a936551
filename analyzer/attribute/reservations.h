// Purpose: tells address space that a program reserved and never touched from memory that it uses.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "analyzer/attribute/block_residency.h"
#include "analyzer/replay/block.h"

namespace memtrace::replay {

// True for an anonymous mapping of the host that the program, or an allocator other than glibc's, made by mmap
// itself, of which less than 1 part in 16 was touched when last looked at. mimalloc reserves 1 GiB, OpenBLAS
// 65 MiB. `resident`: the touched bytes.
bool is_reservation(const Block& block, std::uint64_t resident);

// The reservations of a trace. They are few, so a question looks at each.
class Reservations {
 public:
  // Adds a block that ended at event `death`, if it may be a reservation and was scanned. A block without a
  // scan was touched.
  void add(const Block& block, trace::Ordinal death, const Touched& touched);

  // Returns the bytes that were never touched, of the reservations alive just after event `at`.
  std::uint64_t untouched(trace::Ordinal at) const;

  // Returns the bytes of a block that were never touched while it lived; 0 if it is not a reservation.
  std::uint64_t never_touched(const Block& block) const;

 private:
  struct ReservedMapping {
    Block block;
    trace::Ordinal death;
    Touches touches;
  };
  std::vector<ReservedMapping> all_;
  // By birth and address: parts of one mapping have one birth.
  std::map<std::pair<trace::Ordinal, std::uint64_t>, std::size_t> numbers_;
};

} // namespace memtrace::replay
