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
  if (this->path().empty()) about(path);
  if (part_ != nullptr) { // joined() counts each file once
    part_->files.push_back({device, inode, bytes});
  } else {
    static std::set<std::pair<std::uint64_t, std::uint64_t>> known;
    if (!known.insert({device, inode}).second) return;
  }
  ThreadCount& count = present();
  count.most += static_cast<std::int64_t>(kBytesPerByte * bytes);
  count.most_looks += kLooksPerByte * bytes;
}

void Budget::about(const std::string& path) {
  if (part_ != nullptr) {
    part_->path = path;
  } else {
    path_[path.copy(path_, sizeof path_ - 1)] = '\0';
  }
}

Budget::ThreadCount Budget::second() const {
  const ThreadCount& count = present();
  return {0, 0, std::max<std::int64_t>(count.most - count.held, 0), 0, count.most_looks - count.looks};
}

void Budget::joined(const TraceBudget& part) {
  for (const TraceBudget::ReadFile& file : part.files) reads(part.path, file.device, file.inode, file.bytes);
  about(part.path);
  all_.held += part.count.held;
  if (part.count.looks <= part.count.most_looks) looks(part.count.looks); // else the part was given up
  took(0);
}

// A JSON tree allocates while it is destroyed, even while the exception of this refusal destroys it. What a
// second thread throws, the thread that it decodes for throws again when it reaches that place.
void Budget::refuse() const {
  if (!lifted_ && std::uncaught_exceptions() == 0) throw OverBudget();
}

std::string Budget::refusal() const {
  const ThreadCount& count = present();
  const std::string what = count.looks > count.most_looks
                               ? "a report would look at blocks and records " +
                                     std::to_string(count.most_looks / 1'000'000) +
                                     " million times, the most that files of this size may take"
                               : "a report would take more than " + std::to_string(count.most >> 20) +
                                     " MiB of memory, the most that files of this size may take";
  return path() + ": " + what + "; fewer --steps or a smaller --top take less, --unbounded lifts the bound";
}

} // namespace memtrace::files
