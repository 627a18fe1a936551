// Purpose: finds the module that is mapped at an address.
#include "analyzer/trace/module_map.h"

#include <algorithm>
#include <set>

namespace memtrace::trace {

// Goes once over all addresses where a module begins or ends. A search through all modules at each address took
// time in proportion to the product of their numbers.
ModuleMap::ModuleMap(const Definitions& definitions, std::uint64_t page_bytes) {
  struct Border {
    std::uint64_t address;
    std::size_t module;
    bool begins;
  };
  const std::vector<Module>& modules = definitions.modules();
  std::vector<Border> borders;
  borders.reserve(2 * modules.size());
  for (std::size_t i = 0; i < modules.size(); ++i) {
    const std::uint64_t bytes = modules[i].pages * page_bytes;
    if (bytes == 0) continue;
    borders.push_back({modules[i].first, i, true});
    if (bytes <= ~std::uint64_t{0} - modules[i].first) borders.push_back({modules[i].first + bytes, i, false});
  }
  std::sort(borders.begin(), borders.end(),
            [](const Border& a, const Border& b) { return a.address < b.address; });
  std::set<std::size_t> here; // modules, the last recorded one last
  for (auto border = borders.begin(); border != borders.end();) {
    const std::uint64_t address = border->address;
    for (; border != borders.end() && border->address == address; ++border) {
      if (border->begins) {
        here.insert(border->module);
      } else {
        here.erase(border->module);
      }
    }
    ranges_.push_back({address, here.empty() ? nullptr : &modules[*here.rbegin()]});
  }
}

const Module* ModuleMap::at(std::uint64_t address) const {
  const auto after =
      std::upper_bound(ranges_.begin(), ranges_.end(), address,
                       [](std::uint64_t wanted, const ModuleRange& range) { return wanted < range.first; });
  return after == ranges_.begin() ? nullptr : std::prev(after)->module;
}

} // namespace memtrace::trace
