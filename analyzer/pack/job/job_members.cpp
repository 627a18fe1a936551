// Purpose: lists the files of a job that a packed file holds, and reads them.
#include "analyzer/pack/job/job_members.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>

#include "analyzer/evidence/evidence_store.h"
#include "analyzer/evidence/watched_ends.h"
#include "analyzer/files/reading.h"
#include "preload/format/file_headers.h"

namespace memtrace::report {
namespace {

namespace fs = std::filesystem;

// Bytes of STEM.symbols: three times those of a short trace, and about 2.5 MB for a training run with PyTorch
// and triton, however long it is.
constexpr std::uint64_t kNamesPerSegment = 3;
constexpr std::uint64_t kMostNames = 3 * files::kMiB;

bool is_ring_file(const std::string& path) {
  std::string why;
  const int fd = files::open_to_read(path, files::Origin::found, why);
  if (fd < 0) return false;
  char magic[sizeof format::kRingMagic] = {};
  const bool equal = ::pread(fd, magic, sizeof magic, 0) == static_cast<ssize_t>(sizeof magic) &&
                     std::memcmp(magic, format::kRingMagic, sizeof magic) == 0;
  ::close(fd);
  return equal;
}

class Listing {
 public:
  std::vector<PackMember> members;

  void add_directory(const std::string& directory) {
    const auto [at, fresh] = names_.try_emplace(directory);
    if (!fresh) return;
    for (const std::string& name : files::names_in(directory)) {
      at->second.insert(name);
      const bool job = name == "job" || name.starts_with("job-");
      const bool ends = fs::path(name).extension() == evidence::kEndsSuffix;
      if (job || ends || name.starts_with("node-"))
        add(name, (fs::path(directory) / name).string(),
            job    ? MemberKind::job
            : ends ? MemberKind::ends
                   : MemberKind::node,
            0);
    }
  }

  void add_process(const Process& process, std::size_t number) {
    const fs::path path(process.path);
    const std::string directory = directory_of(process.path), stem = path.stem().string();
    const auto add_file = [&](const std::string& suffix, MemberKind kind) {
      if (!names_[directory].contains(stem + suffix)) return false;
      add(stem + suffix, (fs::path(directory) / (stem + suffix)).string(), kind, number);
      return true;
    };
    if (!add_file(".rings", MemberKind::rings)) add_spooled(process, stem, number);
    add(path.filename().string(), process.path, MemberKind::segments, number);
    for (std::uint32_t i = 0; i < format::kWindowFiles; ++i)
      add_file(".window-" + std::to_string(i), MemberKind::segments);
    add_file(".coarse", MemberKind::rollup);
    add(stem + ".evidence", "", MemberKind::evidence, number);
    add(stem + ".symbols", "", MemberKind::symbols, number);
  }

  static std::string directory_of(const std::string& path) {
    const std::string directory = fs::path(path).parent_path().string();
    return directory.empty() ? "." : directory;
  }

 private:
  // The rings may lie in another directory. The trace names it, so the file is packed only if it is a ring
  // file.
  void add_spooled(const Process& process, const std::string& stem, std::size_t number) {
    const auto elsewhere = process.facts.note("rings");
    if (elsewhere && fs::path(*elsewhere).filename() == stem + ".rings" && is_ring_file(*elsewhere))
      add(stem + ".rings", *elsewhere, MemberKind::rings, number);
  }

  void add(const std::string& name, const std::string& path, MemberKind kind, std::size_t process) {
    if (taken_.insert(name).second) members.push_back({name, path, kind, process});
  }

  std::map<std::string, std::set<std::string>> names_; // of each directory
  std::set<std::string> taken_;
};

} // namespace

std::vector<PackMember> members_of(const std::vector<Process>& processes) {
  Listing listing;
  for (const Process& process : processes) listing.add_directory(Listing::directory_of(process.path));
  for (std::size_t i = 0; i < processes.size(); ++i) listing.add_process(processes[i], i);
  return std::move(listing.members);
}

std::string content_of(const PackMember& member) {
  // A trace may be a link that the user named.
  const files::Origin origin =
      member.kind == MemberKind::segments ? files::Origin::named : files::Origin::found;
  std::string why;
  std::optional<std::string> content = files::read(member.path, origin, ~std::uint64_t{0}, why);
  if (!content) throw std::runtime_error(member.path + ": cannot be packed (" + why + ")");
  return *std::move(content);
}

evidence::Evidence closed_evidence(const Process& process) {
  evidence::Evidence out;
  if (process.evidence) {
    out = *process.evidence;
  } else if (auto stored = evidence::load(evidence::store_of(process.path))) {
    out = *std::move(stored);
  }
  out.closed = true;
  out.running = process.end.how == "running";
  out.left = process.end.left;
  return out;
}

std::uint64_t content_bytes(const std::vector<PackMember>& members) {
  std::uint64_t sum = 0, segments = 0; // segments: of the process so far
  for (const PackMember& member : members) {
    struct stat status {};
    const bool known = !member.path.empty() && ::stat(member.path.c_str(), &status) == 0;
    const std::uint64_t bytes = known ? static_cast<std::uint64_t>(status.st_size) : 0;
    sum += bytes;
    if (member.kind == MemberKind::segments) segments += bytes;
    if (member.kind == MemberKind::symbols)
      sum += std::min(kNamesPerSegment * std::exchange(segments, 0), kMostNames);
  }
  return sum;
}

} // namespace memtrace::report
