// Purpose: the functions of one unit of debug information, by address.
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <vector>

namespace memtrace::symbols {

// libdw's dwarf_getscopes walks the whole unit for each address. A unit of a C++ library may have 100,000
// entries, so this class walks it once.
class UnitFunctions {
 public:
  explicit UnitFunctions(Dwarf_Die unit);

  // Returns the entries whose code has `address`, from the innermost block to the function. Empty if no
  // function has it.
  std::vector<Dwarf_Die> scopes(std::uint64_t address) const;

 private:
  struct FunctionRange {
    std::uint64_t begin;
    std::uint64_t end; // exclusive
    Dwarf_Die entry;
  };

  void add(Dwarf_Die entry);

  std::vector<FunctionRange> functions_; // by address; of those with the same code, the first
};

} // namespace memtrace::symbols
