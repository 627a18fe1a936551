// Purpose: the functions and lines in files of code. A file is read once, however many processes loaded it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyzer/symbols/debug_lines.h"
#include "analyzer/symbols/elf_symbols.h"

namespace memtrace::symbols {

class CodeFiles {
 public:
  // Returns the functions at `address` (as in the file), inlined ones first, with their names demangled. The
  // function of the last one is empty if it is unknown. `build_id`: as ElfSymbols takes it. The reference is
  // valid as long as this object.
  const std::vector<SourceFrame>& at(const std::string& path, std::span<const std::uint8_t> build_id,
                                     std::uint64_t address);

  // What it did so far.
  std::size_t opened() const { return files_.size(); }
  std::size_t lookups() const { return lookups_; }

 private:
  struct CodeFile {
    CodeFile(const std::string& path, std::span<const std::uint8_t> build_id) : symbols(path, build_id) {}
    ElfSymbols symbols;
    std::unique_ptr<DebugLines> lines; // null if the file is not the build that was traced
    std::unordered_map<std::uint64_t, std::vector<SourceFrame>> known;
  };
  using Build = std::pair<std::string, std::vector<std::uint8_t>>; // path and build id

  CodeFile& file_of(const std::string& path, std::span<const std::uint8_t> build_id);

  std::map<Build, CodeFile> files_;
  std::size_t lookups_ = 0; // of addresses that were not known yet
};

} // namespace memtrace::symbols
