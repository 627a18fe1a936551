// Purpose: what a site is called. Lazy: only what is printed is looked up.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "analyzer/decode/definitions.h"
#include "analyzer/symbols/elf_symbols.h"
#include "analyzer/trace/module_map.h"
#include "analyzer/trace/process_facts.h"

namespace memtrace::symbols {

// What it names holds as long as the symbolizer: stacks have most of their frames in common.
struct SiteFrame {
  std::string_view function; // demangled; "module+0x1234" where no symbol is known
  std::string_view file;     // of Python frames, as Python gave it
  std::uint32_t line = 0;
  std::string_view module; // path of the object, of native frames
  bool python = false;
};

struct Site {
  std::string id;                // hash of the frames' names: the same in every run of the same program
  std::vector<SiteFrame> frames; // innermost first
  std::string op;                // "torch._foreach_sqrt", or empty
  std::string where;             // "torch/optim/adam.py:774", or a native function
  std::string caller; // the innermost Python frame of the user's own code, where it is not `where`; or empty
  std::string title() const { return op.empty() ? where : op + ", " + where; }
};

// Returns a copy that holds its names itself, for use after its symbolizer.
std::shared_ptr<const Site> keep(const Site& site);

// "/x/lib/python3.11/site-packages/torch/nn/a.py" -> "torch/nn/a.py"; a file below `working_directory` is
// named from there.
std::string short_path(std::string_view path, std::string_view working_directory);

// "at::_ops::_foreach_sqrt::call(...)" -> "_foreach_sqrt"; "" for any other function. The name of an overload
// ("add_Tensor") is left out.
std::string operator_of(std::string_view function);

class Symbolizer {
 public:
  Symbolizer(const trace::Definitions& definitions, const trace::Facts& facts)
      : definitions_(definitions), facts_(facts), modules_(definitions, facts.page_bytes) {}

  // Of a stack id that is not 0. The reference holds as long as the symbolizer.
  const Site& site(format::StackId stack);

 private:
  SiteFrame native(std::uint64_t return_address);
  SiteFrame python(std::uint64_t value);
  ElfSymbols* symbols_of(const trace::Module& module);
  void describe(Site& site) const;

  const trace::Definitions& definitions_;
  const trace::Facts& facts_;
  std::unordered_map<const trace::Module*, std::unique_ptr<ElfSymbols>> loaded_;
  trace::ModuleMap modules_;
  std::unordered_set<std::string> names_; // that no text of the trace is
  std::unordered_map<std::uint64_t, SiteFrame> natives_;
  std::unordered_map<std::uint32_t, std::unique_ptr<Site>> sites_;
};

} // namespace memtrace::symbols
