// Purpose: the functions of one unit of debug information, by address.
#include "analyzer/symbols/unit_functions.h"

#include <dwarf.h>

#include <algorithm>
#include <cstddef>

namespace memtrace::symbols {
namespace {

// Makes `entry` its first child that has the code at `address`. False if there is none.
bool enter(Dwarf_Die& entry, std::uint64_t address) {
  Dwarf_Die child;
  if (dwarf_child(&entry, &child) != 0) return false;
  do {
    if (dwarf_haspc(&child, address) > 0) {
      entry = child;
      return true;
    }
  } while (dwarf_siblingof(&child, &child) == 0);
  return false;
}

} // namespace

UnitFunctions::UnitFunctions(Dwarf_Die unit) {
  Dwarf_Die entry;
  if (dwarf_child(&unit, &entry) != 0) return;
  do {
    add(entry);
  } while (dwarf_siblingof(&entry, &entry) == 0);
  std::stable_sort(functions_.begin(), functions_.end(),
                   [](const FunctionRange& a, const FunctionRange& b) { return a.begin < b.begin; });
  functions_.erase(
      std::unique(functions_.begin(), functions_.end(),
                  [](const FunctionRange& a, const FunctionRange& b) { return a.begin == b.begin; }),
      functions_.end());
}

void UnitFunctions::add(Dwarf_Die entry) {
  Dwarf_Addr base = 0;
  Dwarf_Addr begin = 0;
  Dwarf_Addr end = 0;
  if (dwarf_tag(&entry) != DW_TAG_subprogram) return;
  for (std::ptrdiff_t at = 0; (at = dwarf_ranges(&entry, at, &base, &begin, &end)) > 0;)
    if (begin < end) functions_.push_back({begin, end, entry});
}

std::vector<Dwarf_Die> UnitFunctions::scopes(std::uint64_t address) const {
  const auto after = std::upper_bound(
      functions_.begin(), functions_.end(), address,
      [](std::uint64_t value, const FunctionRange& function) { return value < function.begin; });
  if (after == functions_.begin() || address >= std::prev(after)->end) return {};
  std::vector<Dwarf_Die> out;
  Dwarf_Die entry = std::prev(after)->entry;
  do {
    out.push_back(entry);
  } while (enter(entry, address));
  std::reverse(out.begin(), out.end());
  return out;
}

} // namespace memtrace::symbols
