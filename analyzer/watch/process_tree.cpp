// Purpose: the processes that a process started, and how much memory each holds.
#include "analyzer/watch/process_tree.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <sstream>

#include "analyzer/files/reading.h"
#include "analyzer/wording/utf8.h"

namespace memtrace::watch {
namespace {

namespace fs = std::filesystem;

std::optional<int> number_of(const std::string& text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Gives the name of each entry to `take`. A folder of /proc may go away meanwhile.
template <class Take>
void each_name(const std::string& folder, Take take) {
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    take(at->path().filename().string());
}

// The kernel lists the children of each thread (CONFIG_PROC_CHILDREN).
void add_children(int pid, std::vector<int>& out) {
  const std::string tasks = "/proc/" + std::to_string(pid) + "/task";
  each_name(tasks, [&](const std::string& thread) {
    std::istringstream children(files::system_text(tasks + "/" + thread + "/children"));
    for (int child = 0; children >> child;) out.push_back(child);
  });
}

bool lists_children() {
  std::error_code error;
  const std::string self = std::to_string(::getpid());
  return fs::exists("/proc/self/task/" + self + "/children", error);
}

// The parent is the second word behind the name, which is in parentheses and may have some itself.
int parent_of(int pid) {
  const std::string stat = files::system_text("/proc/" + std::to_string(pid) + "/stat");
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream words(stat.substr(name_end + 1));
  std::string state;
  int parent = 0;
  words >> state >> parent;
  return parent;
}

std::vector<int> tree_by_parents(int root) {
  std::multimap<int, int> children;
  each_name("/proc", [&](const std::string& name) {
    if (const auto pid = number_of(name)) children.emplace(parent_of(*pid), *pid);
  });
  std::vector<int> out = {root};
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto [first, last] = children.equal_range(out[i]);
    for (auto at = first; at != last; ++at) out.push_back(at->second);
  }
  return out;
}

} // namespace

std::vector<int> process_tree(int root) {
  static const bool listed = lists_children();
  if (!listed) return tree_by_parents(root);
  std::vector<int> out = {root};
  for (std::size_t i = 0; i < out.size(); ++i) add_children(out[i], out);
  return out;
}

std::optional<ProcessSize> process_size(int pid) {
  std::istringstream words(files::system_text("/proc/" + std::to_string(pid) + "/statm"));
  std::uint64_t size = 0;
  std::uint64_t resident = 0;
  if (!(words >> size >> resident)) return std::nullopt;
  static const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return ProcessSize{resident * page, size * page};
}

std::string program_name(int pid) {
  std::string name = files::system_text("/proc/" + std::to_string(pid) + "/comm");
  if (name.ends_with('\n')) name.pop_back();
  return report::printable(name);
}

void ResidentHistory::add(std::uint64_t now, const std::vector<int>& pids) {
  if (began_ == 0) began_ = now;
  std::map<int, std::deque<ResidentReading>> kept;
  for (const int pid : pids) {
    const std::optional<ProcessSize> size = process_size(pid);
    if (!size) continue;
    std::deque<ResidentReading>& readings = kept[pid];
    if (const auto before = readings_.find(pid); before != readings_.end())
      readings = std::move(before->second);
    // A process that began later had nothing.
    if (readings.empty() && now > began_) readings.push_back({now, 0});
    while (readings.size() > 1 && now - readings.front().time > kRememberedNs) readings.pop_front();
    readings.push_back({now, size->resident});
  }
  readings_ = std::move(kept);
}

std::optional<Grown> ResidentHistory::most_grown(std::uint64_t now) const {
  std::optional<Grown> most;
  for (const auto& [pid, readings] : readings_) {
    const ResidentReading& first = readings.front();
    const std::uint64_t last = readings.back().resident;
    if (last <= first.resident || (most && most->bytes >= last - first.resident)) continue;
    most = Grown{pid, last - first.resident, static_cast<double>(now - first.time) / 1e9};
  }
  return most;
}

int ResidentHistory::largest() const {
  int pid = 0;
  std::uint64_t most = 0;
  for (const auto& [one, readings] : readings_) {
    if (pid != 0 && readings.back().resident <= most) continue;
    pid = one;
    most = readings.back().resident;
  }
  return pid;
}

} // namespace memtrace::watch
