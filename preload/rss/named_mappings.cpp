// Purpose: the resident parts of mappings that have a name: files, libraries, shared memory.
// Runs: on the background thread.
#include "preload/rss/named_mappings.h"

#include <linux/magic.h>

#include <cstring>
#include <initializer_list>

#include "preload/kernel/page_residency.h"
#include "preload/kernel/proc_file.h"
#include "preload/kernel/proc_maps.h"
#include "preload/kernel/statm.h"
#include "preload/os/clocks.h"
#include "preload/os/paths.h"
#include "preload/ring/ring_file.h"
#include "preload/rss/heap_and_stack_bounds.h"
#include "preload/trace/trace_file.h"

namespace memtrace::record {
namespace {

using format::LedgerRow;

constexpr std::uint64_t kWhileNs = 5'000'000'000;
constexpr std::uint64_t kMoved = 256 * 1024; // or 1 part in kMovedPart of RSS
constexpr std::uint64_t kMovedPart = 512;

constinit Named named{};
constinit Named found{}; // the figures of this look so far
constinit Mapping mapping{};
constinit MapsReader maps{};       // open between two turns
constinit std::uint64_t at = 0;    // address in the mapping; 0: at the next one
constexpr unsigned kTimeEach = 16; // mappings between two checks of the time

bool has_prefix(const char* text, const char* prefix) {
  return std::strncmp(text, prefix, std::strlen(prefix)) == 0;
}

// True for MAP_HUGETLB, or for a file of hugetlbfs.
bool is_huge(const Mapping& one) {
  if (has_prefix(one.path, "/anon_hugepage")) return true;
  return found.huge != 0 && one.path[0] == '/' && os::file_system_at(one.path) == HUGETLBFS_MAGIC;
}

LedgerRow row_of(const Mapping& one) {
  bool ours = false;
  if (one.path[0] == '[') return has_prefix(one.path, "[stack") ? LedgerRow::stacks : LedgerRow::code;
  if (library_end(one.start, &ours) != 0) return ours ? LedgerRow::own : LedgerRow::code;
  if (std::strcmp(one.path, ring_path().text()) == 0 || is_beside_trace(one.path, ".coarse"))
    return LedgerRow::own;
  for (const char* memory : {"/dev/shm/", "/memfd:", "/SYSV", "/dev/zero"})
    if (has_prefix(one.path, memory)) return LedgerRow::shared;
  return is_huge(one) ? LedgerRow::huge : LedgerRow::files;
}

bool named_moved() {
  const Statm kernels = statm();
  const std::uint64_t now = os::monotonic_ns();
  const std::uint64_t moved =
      kernels.shared > named.pages ? kernels.shared - named.pages : named.pages - kernels.shared;
  const bool few = moved <= kMoved || moved <= kernels.resident / kMovedPart;
  const char* const status = read_kernel_file("/proc/self/status");
  const std::uint64_t said = status == nullptr ? format::kNotSaid : kib_after(status, "HugetlbPages:");
  const std::uint64_t huge = said == format::kNotSaid ? 0 : said;
  if (few && huge == named.huge && named.when != 0 && now - named.when < kWhileNs) return false;
  found = {now, kernels.shared, huge, 0, {}};
  return true;
}

// Returns false if the turn is over.
bool add(const Mapping& one, Pages& pages, const Turn& turn) {
  const LedgerRow which = row_of(one);
  LedgerAmount& row = found.row[static_cast<std::size_t>(which)];
  const bool copied = !one.shared && !one.executable;
  const bool begins = at == 0;
  if (begins) {
    row.given += one.end - one.start;
    ++row.parts;
  }
  if (which == LedgerRow::huge) {
    row.resident = found.huge; // as the kernel counts it for the process
    return true;
  }
  pages.begin(begins ? one.start : at, one.end, copied ? Pages::Of::copied_file : Pages::Of::file, &turn);
  for (PageRun run; pages.next(&run);) {
    row.resident += run.end - run.start;
    if (!run.of_file) found.anonymous += run.end - run.start;
  }
  at = pages.done() ? 0 : pages.at();
  return at == 0;
}

} // namespace

const Named& named_mappings() {
  return named;
}

bool look_at_named(const Turn& turn) {
  if (!maps.is_open()) {
    if (!named_moved()) return true;
    at = 0;
    maps.open();
  }
  Pages pages;
  for (unsigned count = 1; at != 0 || maps.next(&mapping); ++count) {
    if (static_cast<std::int64_t>(mapping.start) < 0) break; // addresses of the kernel
    if (!is_anonymous(mapping) && !add(mapping, pages, turn)) return false;
    if (count % kTimeEach == 0 && turn.is_over()) return false;
  }
  maps.close();
  named = found;
  return true;
}

void leave_named() {
  maps.close();
}

void forget_named_mappings() {
  maps.forget();
  named = {};
}

} // namespace memtrace::record
