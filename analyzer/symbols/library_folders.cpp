// Purpose: tells the user's own Python files from installed packages and the standard library.
#include "analyzer/symbols/library_folders.h"

#include <algorithm>

#include "analyzer/symbols/inductor_code.h"

namespace memtrace::symbols {
namespace {

std::string folder(std::string path) {
  if (!path.empty() && path.back() != '/') path += '/';
  return path;
}

// Returns the arguments of the process. The recorder stores them with NUL between.
std::vector<std::string_view> arguments(const trace::Facts& facts) {
  std::vector<std::string_view> out;
  const std::string_view joined = facts.argv;
  for (std::size_t at = 0; at < joined.size();) {
    const std::size_t end = std::min(joined.find('\0', at), joined.size());
    out.push_back(joined.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

// Returns the absolute path of the first argument that is a Python file, or "".
std::string script_of(const trace::Facts& facts) {
  for (const std::string_view argument : arguments(facts))
    if (argument.ends_with(".py"))
      return argument.front() == '/' ? std::string(argument)
                                     : folder(facts.working_directory) + std::string(argument);
  return {};
}

// True for code that has no file and that the user wrote: a cell of a notebook, or text on the command line.
// Dataclasses and named tuples compile "<string>", too, in every program.
bool typed_in(std::string_view file, bool by_command) {
  return file.starts_with("<ipython-input") || file == "<stdin>" || (by_command && file == "<string>");
}

} // namespace

LibraryFolders::LibraryFolders(const trace::Facts& facts) : script_(script_of(facts)) {
  const std::string here = folder(facts.working_directory);
  constexpr std::string_view kLibrary = "python-library=", kPath = "python-path=";
  for (const std::string& note : facts.notes) {
    if (note.starts_with(kLibrary)) {
      folders_.push_back(folder(note.substr(kLibrary.size())));
      told_ = true;
    } else if (note.starts_with(kPath)) {
      const std::string path = folder(note.substr(kPath.size()));
      if (!script_.starts_with(path) && !path.starts_with(here)) folders_.push_back(path);
    }
  }
  std::erase(folders_, "/");
  std::sort(folders_.begin(), folders_.end(), [](const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() > b.size() : a < b;
  });
  const std::vector<std::string_view> all = arguments(facts);
  by_command_ = std::find(all.begin(), all.end(), "-c") != all.end();
}

std::string_view LibraryFolders::below(std::string_view file) const {
  for (const std::string& one : folders_)
    if (file.starts_with(one)) return file.substr(one.size());
  return {};
}

bool LibraryFolders::holds(std::string_view file) const {
  if (file.empty()) return true;
  if (file.front() == '<') return !typed_in(file, by_command_);
  if (file.find("/torchinductor_") != std::string_view::npos || InductorCode::is_generated(file))
    return true; // compiled by torch.compile; a setting may name another folder
  if (told_) return !below(file).empty();
  return !below(file).empty() || file.find("-packages/") != std::string_view::npos ||
         file.find("/lib/python") != std::string_view::npos;
}

} // namespace memtrace::symbols
