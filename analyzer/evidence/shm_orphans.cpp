// Purpose: the files that processes left in /dev/shm: their sizes, their holders and their creators.
#include "analyzer/evidence/shm_orphans.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <iterator>
#include <sstream>

#include "analyzer/evidence/text_scan.h"
#include "analyzer/files/reading.h"

namespace memtrace::evidence {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostEntries = 100'000; // entries of a directory
constexpr double kEarly = 0.05;      // s: file times are those of the kernel's last tick, on another clock
constexpr double kBeforeMapping = 1; // s: between the creation of a file and its mapping
constexpr double kIdle = 2;          // s: a process lives on after its last record

double seconds(const struct statx_timestamp& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

std::optional<SharedFile> shared_file(const std::string& directory, std::string name) {
  struct statx info {};
  const std::string path = directory + "/" + name;
  if (::statx(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS | STATX_BTIME, &info) != 0)
    return {};
  if (!S_ISREG(info.stx_mode) || info.stx_blocks == 0) return std::nullopt;
  SharedFile file;
  file.name = std::move(name);
  file.bytes = info.stx_blocks * 512;
  file.size = info.stx_size;
  file.changed = seconds(info.stx_mtime);
  file.made = info.stx_mask & STATX_BTIME ? seconds(info.stx_btime) : file.changed;
  file.id = {::makedev(info.stx_dev_major, info.stx_dev_minor), info.stx_ino};
  return file;
}

std::uint64_t number_in_base(std::string_view text, int base) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value, base);
  return value;
}

std::string_view next_word(std::string_view& text) {
  text.remove_prefix(std::min(text.size(), text.find_first_not_of(' ')));
  const std::string_view word = text.substr(0, text.find(' '));
  text.remove_prefix(word.size());
  return word;
}

// Returns the file of a line in /proc/PID/maps: "7f00-7f01 rw-s 00000000 00:1b 119895    /dev/shm/x".
FileId mapped_file(std::string_view line) {
  for (int i = 0; i < 3; ++i) next_word(line);
  const std::string_view device = next_word(line);
  const std::size_t colon = std::min(device.size(), device.find(':') + 1);
  const auto part = [](std::string_view hex) { return static_cast<unsigned>(number_in_base(hex, 16)); };
  return {::makedev(part(device), part(device.substr(colon))), number_in_base(next_word(line), 10)};
}

bool add_mapped(const fs::path& process, Living& living) {
  const std::optional<std::string> text = files::read_system(process / "maps");
  if (!text) return false;
  std::istringstream maps(*text);
  for (std::string line; std::getline(maps, line);)
    if (const FileId id = mapped_file(line); id.second != 0) living.held.insert(id);
  return true;
}

bool add_open(const fs::path& process, Living& living) {
  std::error_code error;
  for (fs::directory_iterator at(process / "fd", error), end; !error && at != end; at.increment(error)) {
    struct stat info {};
    if (::stat(at->path().c_str(), &info) == 0) living.held.insert({info.st_dev, info.st_ino});
  }
  return !error;
}

// True if the process has no command line: a kernel thread or a process that has ended. Both hold no files.
bool holds_nothing(const fs::path& process) {
  return files::system_text(process / "cmdline").empty();
}

// Reads "MEMTRACE_JOB=ID;PATTERN", by which the recorder passes the job to children.
void add_job(const fs::path& process, Living& living) {
  constexpr std::string_view kKey = "MEMTRACE_JOB=";
  std::istringstream environment(files::system_text(process / "environ"));
  for (std::string one; std::getline(environment, one, '\0');)
    if (one.starts_with(kKey)) living.jobs.insert(one.substr(kKey.size(), one.find(';') - kKey.size()));
}

std::uint64_t in_pages(std::uint64_t bytes) {
  constexpr std::uint64_t kPage = 4096;
  return (bytes + kPage - 1) / kPage * kPage;
}

// Returns the first mapping of the file's size at the time the file was created or last changed. Returns
// nullptr if there is none.
const ShmMapping* mapping_of(const SharedFile& file, const ShmCreator& maker) {
  const auto then = [](double unix, double file_time) {
    return unix >= file_time - kEarly && unix <= file_time + kBeforeMapping;
  };
  for (const ShmMapping& one : maker.mapped) {
    if (one.bytes == in_pages(file.size) && (then(one.unix, file.made) || then(one.unix, file.changed)))
      return &one;
  }
  return nullptr;
}

} // namespace

std::vector<SharedFile> shared_files(const std::string& directory) {
  std::vector<SharedFile> files;
  std::error_code error;
  std::size_t entries = 0;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    if (++entries > kMostEntries) break;
    if (auto file = shared_file(directory, at->path().filename().string())) files.push_back(std::move(*file));
  }
  std::sort(files.begin(), files.end(), [](const SharedFile& a, const SharedFile& b) {
    return a.bytes != b.bytes ? a.bytes > b.bytes : a.name < b.name;
  });
  if (files.size() > kMostFiles) files.resize(kMostFiles);
  return files;
}

Living living(const std::string& processes) {
  Living out;
  std::error_code error;
  const fs::path self = fs::read_symlink(fs::path(processes) / "self", error);
  for (fs::directory_iterator at(processes, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    if (holds_nothing(at->path())) continue;
    const bool maps = add_mapped(at->path(), out), open = add_open(at->path(), out);
    // A process that has ended by now holds no file.
    if ((!maps || !open) && !holds_nothing(at->path())) ++out.unseen;
    if (name != self) add_job(at->path(), out);
  }
  // If /proc hides the processes of other users, pid 1 is missing.
  if (!fs::exists(fs::path(processes) / "1", error)) out.unseen = kUnknown;
  return out;
}

std::optional<std::uint64_t> pid_in(std::string_view name) {
  constexpr std::string_view kBegin = "torch_";
  if (!name.starts_with(kBegin)) return std::nullopt;
  name.remove_prefix(kBegin.size());
  const std::size_t digits = name.find_first_not_of("0123456789");
  if (digits == 0 || digits == std::string_view::npos || name[digits] != '_') return std::nullopt;
  return number(name);
}

bool in_life(const SharedFile& file, const ShmCreator& maker) {
  return file.made >= maker.began - kEarly && file.made <= maker.last + kIdle;
}

std::optional<ShmOrphan> claim(const SharedFile& file, const ShmCreator& maker) {
  if (!in_life(file, maker)) return std::nullopt;
  const auto pid = pid_in(file.name);
  if (pid && *pid != maker.pid) return std::nullopt; // the process mapped a file that another process created
  const ShmMapping* const mapping = mapping_of(file, maker);
  if (!pid && mapping == nullptr) return std::nullopt;
  ShmOrphan out;
  out.name = file.name;
  out.bytes = file.bytes;
  out.made = file.made;
  if (mapping != nullptr) out.mapped = mapping->unix;
  return out;
}

} // namespace memtrace::evidence
