// Purpose: names sites. Lazy: looks up only what is printed.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "analyzer/decode/definitions.h"
#include "analyzer/symbols/code_files.h"
#include "analyzer/symbols/inductor_code.h"
#include "analyzer/symbols/library_folders.h"
#include "analyzer/symbols/stored_names.h"
#include "analyzer/trace/module_map.h"
#include "analyzer/trace/process_facts.h"

namespace memtrace::symbols {

// Its names are valid as long as the symbolizer, because stacks have most of their frames in common.
struct SiteFrame {
  std::string_view function; // demangled; "module+0x1234" if no symbol is known
  std::string_view file;     // from Python or the debug information; empty if unknown
  std::uint32_t line = 0;    // from 1; 0 if unknown
  std::string_view module;   // path of the object, for native frames
  bool python = false;
  bool own = false;     // Python code of the user, see LibraryFolders
  bool inlined = false; // a function without its own frame, known only from debug information
};

struct Site {
  std::string id; // hash of the frames' names: equal in every run, with and without debug information
  std::vector<SiteFrame> frames; // innermost first
  std::string op;                // "torch._foreach_sqrt", or empty
  std::string where;             // "torch/optim/adam.py:774", or a native function and its line or module
  std::string own_line;          // the innermost Python line of the user's own code; empty if there is none
  std::string pass_line;         // the user's line that called the outermost module; empty outside of modules
  std::string caller;            // own_line, or empty if that is `where`
  std::string import;            // "import of torch", if the user's line made Python import it; else empty
  const std::string& line() const { return own_line.empty() ? where : own_line; }
  std::string title() const { return op.empty() ? where : op + ", " + where; }
};

// Returns the frames in which the block was allocated. In backward, these are the frames before those of the
// forward call, which allocated other memory.
std::span<const SiteFrame> frames_of_allocation(const Site& site);

// True for functions that every allocation goes through, such as malloc and operator new. True also for inlined
// functions of the standard library's headers.
bool is_plumbing(const SiteFrame& frame);

// Returns a copy that owns its names, for use after its symbolizer.
std::shared_ptr<const Site> keep(const Site& site);

// Returns a short form: "/x/lib/python3.11/site-packages/torch/nn/a.py" -> "torch/nn/a.py". A file below
// `working_directory` gets the path from there.
std::string short_path(std::string_view path, std::string_view working_directory);

class Symbolizer {
 public:
  // `stored`: the names beside the trace, if there are any. Then no library of this machine is opened. `code`:
  // the libraries that the symbolizers of a job have in common.
  Symbolizer(const trace::Definitions& definitions, const trace::Facts& facts,
             std::optional<StoredNames> stored = std::nullopt,
             std::shared_ptr<CodeFiles> code = std::make_shared<CodeFiles>())
      : definitions_(definitions),
        facts_(facts),
        libraries_(facts),
        stored_(std::move(stored)),
        code_(std::move(code)),
        modules_(definitions, facts.page_bytes) {}

  // Returns the site of a stack id that is not 0. The reference is valid as long as the symbolizer.
  const Site& site(format::StackId stack);

  // Returns the file as reports show it: "torch/optim/adam.py".
  std::string shown_path(const SiteFrame& frame) const;

  // Returns the names of all native addresses and of all lines of generated code in the trace's stacks.
  StoredNames names_to_store();

 private:
  // Returns the functions at a return address, inlined ones first.
  const std::vector<SiteFrame>& native(std::uint64_t return_address);
  void add_native(std::uint64_t return_address, std::vector<SiteFrame>& out);
  // Returns the functions at an address of a file of code, as StoredNames has them.
  const std::vector<SourceFrame>& look_up(const trace::Module& module, std::uint64_t address);
  std::string filled_by(std::string_view file, std::uint32_t line);
  SiteFrame python(std::uint64_t value);
  std::string_view keep_name(std::string name) { return *names_.insert(std::move(name)).first; }
  void describe(Site& site);

  const trace::Definitions& definitions_;
  const trace::Facts& facts_;
  const LibraryFolders libraries_;
  InductorCode inductor_;
  const std::optional<StoredNames> stored_;
  const std::shared_ptr<CodeFiles> code_;
  trace::ModuleMap modules_;
  std::unordered_set<std::string> names_; // names that the trace does not contain
  std::unordered_map<std::uint64_t, std::vector<SiteFrame>> natives_;
  std::unordered_map<std::uint32_t, std::unique_ptr<Site>> sites_;
};

} // namespace memtrace::symbols
