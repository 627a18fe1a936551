// Purpose: limits the memory and the work that a command may spend on the files that it reads.
#include "analyzer/files/read_budget.h"

#include <exception>
#include <set>
#include <utility>

namespace memtrace::files {

Budget& Budget::of_command() {
  static constinit Budget budget;
  return budget;
}

void Budget::reads(const std::string& path, std::uint64_t device, std::uint64_t inode, std::uint64_t bytes) {
  static std::set<std::pair<std::uint64_t, std::uint64_t>> known;
  if (path_[0] == '\0') about(path);
  if (!known.insert({device, inode}).second) return;
  most_held_ += kBytesPerByte * bytes;
  most_looks_ += kLooksPerByte * bytes;
}

void Budget::about(const std::string& path) {
  path_[path.copy(path_, sizeof path_ - 1)] = '\0';
}

void Budget::refuse(bool work) {
  // A JSON tree allocates while it is destroyed, even while the exception of this refusal destroys it.
  if (lifted_ || std::uncaught_exceptions() != 0) return;
  work_ = work;
  throw OverBudget();
}

void Budget::refuse_second() const {
  if (lifted_ || std::uncaught_exceptions() != 0) return;
  throw OverBudget(); // the command's thread throws it again when it reaches this place
}

std::string Budget::refusal() const {
  const std::string what = work_ ? "a report would look at blocks and records " +
                                       std::to_string(most_looks_ / 1'000'000) +
                                       " million times, the most that files of this size may take"
                                 : "a report would take more than " + std::to_string(most_held_ >> 20) +
                                       " MiB of memory, the most that files of this size may take";
  return path() + ": " + what + "; fewer --steps or a smaller --top take less, --unbounded lifts the bound";
}

} // namespace memtrace::files
