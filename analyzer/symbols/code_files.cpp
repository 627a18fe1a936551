// Purpose: the functions and lines in files of code. A file is read once, however many processes loaded it.
#include "analyzer/symbols/code_files.h"

#include "analyzer/files/warning.h"
#include "analyzer/symbols/demangle.h"

namespace memtrace::symbols {

CodeFiles::CodeFile& CodeFiles::file_of(const std::string& path, std::span<const std::uint8_t> build_id) {
  const auto [at, fresh] = files_.try_emplace({path, {build_id.begin(), build_id.end()}}, path, build_id);
  CodeFile& file = at->second;
  if (!fresh) return file;
  if (file.symbols.state() == ElfSymbols::Outcome::good) file.lines = std::make_unique<DebugLines>(path);
  if (file.symbols.state() == ElfSymbols::Outcome::other_build)
    files::warn(path + ": not the build that was traced; its functions are shown as addresses");
  return file;
}

const std::vector<SourceFrame>& CodeFiles::at(const std::string& path, std::span<const std::uint8_t> build_id,
                                              std::uint64_t address) {
  CodeFile& file = file_of(path, build_id);
  const auto [at, fresh] = file.known.try_emplace(address);
  std::vector<SourceFrame>& out = at->second;
  if (!fresh) return out;
  ++lookups_;
  if (file.lines) out = file.lines->at(address);
  if (out.empty()) out.emplace_back();
  for (SourceFrame& frame : out) frame.function = demangle(frame.function.c_str());
  if (const char* name = file.symbols.function(address); name != nullptr) out.back().function = demangle(name);
  return out;
}

} // namespace memtrace::symbols
