// Purpose: computes this process's part of the bytes that a job may write on this host.
// Runs: once, when recording begins; also inside a malloc, on a small stack.
#include "preload/job/host_quota.h"

#include <cerrno>
#include <cstring>

#include "preload/format/file_headers.h"
#include "preload/format/shared_files.h"
#include "preload/job/job_directory.h"
#include "preload/os/files.h"
#include "preload/os/paths.h"
#include "preload/state/settings.h"

namespace memtrace::record {
namespace {

constexpr std::size_t kFigure = 20;          // digits of a claim, so that it can be changed in place
constexpr std::uint64_t kMostRead = 4 << 20; // bytes of the file: some ten thousand processes
constexpr std::uint64_t kCountingPart = 16;  // of MEMTRACE_MAX_NODE: reserved for processes that only count
// Beside the trace. STEM.copied has the size of the files that were copied to a shared file system and removed
// here.
constexpr const char* kOthers[] = {".coarse", ".window-0", ".window-1", ".window-2", ".window-3", ".copied"};
static_assert(sizeof kOthers / sizeof *kOthers == format::kWindowFiles + 2);

// Static: one thread begins to record at a time, and its stack may be small.
constinit Path path{};
constinit Line<4400> line{};
constinit char buffer[16 * 1024];
// This process's claim.
constinit Path own_directory{};
constinit Path own_stem{};
constinit std::uint64_t claimed_before = 0;
constinit std::uint64_t own_offset = 0;
constinit std::uint64_t own_bytes = 0;
constinit Quota granted{};

struct Claim {
  std::uint64_t bytes;
  const char* stem; // both end with NUL
  const char* rings;
};

// Parses "BYTES STEM RINGS" without its newline, in place. Returns false if the text has another form.
bool parse(char* text, Claim* out) {
  out->bytes = 0;
  for (std::size_t i = 0; i < kFigure; ++i) {
    if (text[i] < '0' || text[i] > '9') return false;
    out->bytes = out->bytes * 10 + static_cast<std::uint64_t>(text[i] - '0');
  }
  if (text[kFigure] != ' ') return false;
  char* const stem = text + kFigure + 1;
  char* const gap = std::strchr(stem, ' ');
  if (gap == nullptr) return false;
  *gap = '\0';
  out->stem = stem;
  out->rings = gap + 1;
  return true;
}

const char* beside(const char* directory, const char* stem, const char* suffix) {
  static constinit Path name{};
  name.clear();
  return name.add(directory).add("/").add(stem).add(suffix).text();
}

std::uint64_t size_of(const char* directory, const char* stem, const char* suffix) {
  const long bytes = os::size_of(beside(directory, stem, suffix));
  return bytes > 0 ? static_cast<std::uint64_t>(bytes) : 0;
}

std::uint64_t counts_with(const Claim& claim, const char* directory) {
  const bool near = std::strcmp(claim.rings, "-") == 0;
  const bool copied =
      os::exists(beside(directory, claim.stem, format::kCopiedSuffix)); // then the rings are a header
  if (!copied && os::exists(near ? beside(directory, claim.stem, ".rings") : claim.rings)) return claim.bytes;
  std::uint64_t bytes = size_of(directory, claim.stem, ".memtrace");
  for (const char* suffix : kOthers) bytes += size_of(directory, claim.stem, suffix);
  return bytes < claim.bytes ? bytes : claim.bytes;
}

// Calls take(claim) for each line before this process's line. Returns the offset of this process's line, or -1
// if it was not found.
template <class Take>
long lines_before(long fd, const char* stem, Take take) {
  std::size_t have = 0;
  std::uint64_t at = 0; // offset of the buffer's first byte in the file
  while (at < kMostRead) {
    const long got = os::read_all(fd, buffer + have, sizeof buffer - 1 - have);
    if (got <= 0) return -1;
    have += static_cast<std::size_t>(got);
    buffer[have] = '\0';
    std::size_t done = 0;
    for (char* end; (end = static_cast<char*>(std::memchr(buffer + done, '\n', have - done))) != nullptr;) {
      *end = '\0';
      Claim claim;
      if (parse(buffer + done, &claim)) {
        if (std::strcmp(claim.stem, stem) == 0) return static_cast<long>(at + done);
        take(claim);
      }
      done = static_cast<std::size_t>(end + 1 - buffer);
    }
    if (done == 0) return -1; // no valid line is as long as the buffer
    std::memmove(buffer, buffer + done, have - done);
    have -= done;
    at += done;
  }
  return -1;
}

// Sums take(claim) over the lines before this process's line, to `*taken`. Returns the offset of this process's
// line, or -1 if it was not found.
template <class Take>
long taken_before(const char* stem, std::uint64_t* taken, Take take) {
  *taken = 0;
  const long fd = os::open_own(path.text(), os::For::reading);
  if (fd < 0) return -1;
  const long ours = lines_before(fd, stem, [&](const Claim& claim) { *taken += take(claim); });
  os::close(fd);
  return ours;
}

bool append_claim(const char* stem, const char* rings, std::uint64_t asked) {
  const long made = os::create(path.text()); // fails if the file exists
  if (made >= 0) os::close(made);
  const long fd = os::open_own(path.text(), os::For::appending);
  if (fd < 0) return false;
  line.clear();
  line.padded(asked, kFigure).add(" ").add(stem).add(" ").add(rings).add("\n");
  const long written = line.cut() ? -1 : os::write_all(fd, line.text(), line.size());
  os::close(fd);
  return written >= 0;
}

// True if the line at `own_offset` is this process's. Else the file was replaced, or this process could not add
// its line. A forked child begins with the offset of its parent.
bool has_own_line(long fd) {
  const std::size_t bytes = kFigure + 1 + own_stem.size() + 1;
  if (bytes > sizeof buffer || own_stem.size() == 0) return false;
  if (os::read_at(fd, own_offset, buffer, bytes) != static_cast<long>(bytes)) return false;
  return buffer[kFigure] == ' ' && buffer[bytes - 1] == ' ' &&
         std::memcmp(buffer + kFigure + 1, own_stem.text(), own_stem.size()) == 0;
}

// Writes `bytes` into this process's line. Returns false if there is no such line.
bool change_claim(std::uint64_t bytes) {
  const long fd = os::open_own(path.text(), os::For::changing);
  if (fd < 0) return false;
  line.clear();
  line.padded(bytes, kFigure);
  const bool changed = has_own_line(fd) && os::write_at(fd, own_offset, line.text(), line.size()) > 0;
  os::close(fd);
  return changed;
}

Quota quota_of(std::uint64_t left, std::uint64_t asked) {
  const std::uint64_t kept = settings.max_node / kCountingPart;
  const std::uint64_t room = left > kept ? left - kept : 0;
  if (room >= asked) return {Detail::full, asked};
  if (room >= kSensibleTrace) return {Detail::less, room};
  if (left >= kLeastTrace) return {Detail::counts, kLeastTrace};
  return {Detail::none, 0};
}

} // namespace

const Path& claims_of(const char* directory, const char* host) {
  path.clear();
  return path.add(directory).add("/node-").add(host);
}

long refused_by_claims(const char* directory) {
  claims_of(directory, place.host.text());
  const long fd = os::open_own(path.text(), os::For::appending);
  if (fd >= 0) os::close(fd);
  const bool in_the_way = fd == os::kNotOurs || fd == -ELOOP || fd == -ENXIO || fd == -EISDIR || fd == -EACCES;
  return in_the_way ? fd : 0;
}

namespace {

// Returns what the files of the other processes leave, and writes it into this process's line.
Quota claim_remainder(std::uint64_t asked) {
  std::uint64_t taken = 0;
  taken_before(own_stem.text(), &taken,
               [](const Claim& claim) { return counts_with(claim, own_directory.text()); });
  const Quota share = quota_of(settings.max_node > taken ? settings.max_node - taken : 0, asked);
  return change_claim(share.detail == Detail::full ? asked : share.bytes) ? share : granted;
}

Quota first_claim(const char* rings, std::uint64_t asked) {
  claims_of(own_directory.text(), place.host.text());
  granted = {Detail::counts, kLeastTrace};
  std::uint64_t taken = 0;
  // For most processes the claims alone are enough, without a look at any other file.
  const long ours = append_claim(own_stem.text(), rings, asked)
                        ? taken_before(own_stem.text(), &taken, [](const Claim& c) { return c.bytes; })
                        : -1;
  claimed_before = ours < 0 ? 0 : taken;
  own_offset = ours < 0 ? 0 : static_cast<std::uint64_t>(ours);
  if (ours < 0) return granted;
  const Quota share = quota_of(settings.max_node > taken ? settings.max_node - taken : 0, asked);
  return share.detail == Detail::full ? share : claim_remainder(asked);
}

} // namespace

Quota claim_quota(const char* directory, const char* stem, const char* rings, std::uint64_t asked) {
  own_directory.clear();
  own_directory.add(directory);
  own_stem.clear();
  own_stem.add(stem);
  granted = first_claim(rings, asked);
  own_bytes = granted.bytes;
  return granted;
}

bool is_quota_half_used() {
  if (claimed_before <= settings.max_node / 2 || own_stem.size() == 0) return false;
  claims_of(own_directory.text(), place.host.text());
  std::uint64_t taken = 0;
  taken_before(own_stem.text(), &taken,
               [](const Claim& claim) { return counts_with(claim, own_directory.text()); });
  return taken > settings.max_node / 2;
}

Quota claim_again(std::uint64_t asked) {
  if (own_directory.size() == 0 || own_stem.size() == 0) return granted;
  claims_of(own_directory.text(), place.host.text());
  granted = claim_remainder(asked);
  own_bytes = granted.bytes;
  return granted;
}

void remove_files_of(const char* directory, const char* stem, const char* rings) {
  os::unlink(std::strcmp(rings, "-") == 0 ? beside(directory, stem, ".rings") : rings);
  for (const char* suffix : kOthers) os::unlink(beside(directory, stem, suffix));
  os::unlink(beside(directory, stem, ".memtrace"));
}

const Quota& quota() {
  return granted;
}

// Raises the claim first and then reads all claims, so of two processes at least one sees both.
bool raise_claim(std::uint64_t bytes) {
  if (own_directory.size() == 0) return false;
  claims_of(own_directory.text(), place.host.text());
  if (!change_claim(bytes)) return false;
  std::uint64_t taken = 0;
  const long fd = os::open_own(path.text(), os::For::reading);
  if (fd < 0) return false;
  lines_before(fd, "", [&](const Claim& claim) { taken += counts_with(claim, own_directory.text()); });
  os::close(fd);
  if (taken + settings.max_node / kCountingPart <= settings.max_node) {
    own_bytes = bytes;
    return true;
  }
  change_claim(own_bytes);
  return false;
}

void each_claim(const char* directory, const char* host,
                void (*take)(void* context, const char* stem, const char* rings), void* context) {
  claims_of(directory, host);
  const long fd = os::open_own(path.text(), os::For::reading);
  if (fd < 0) return;
  lines_before(fd, "", [&](const Claim& claim) { take(context, claim.stem, claim.rings); });
  os::close(fd);
}

} // namespace memtrace::record
