// Purpose: records about the process as a whole.
// Runs: when recording begins or ends, guard held.
#include "preload/process/process_notes.h"

#include <cstring>

#include "preload/format/setting_values.h"
#include "preload/job/host_quota.h"
#include "preload/kernel/proc_file.h"
#include "preload/os/environ.h"
#include "preload/os/threads.h"
#include "preload/os/timestamp.h"
#include "preload/record/emit.h"
#include "preload/record/interner.h"
#include "preload/record/thread_list.h"
#include "preload/ring/ring_file.h"
#include "preload/state/loss_counters.h"
#include "preload/state/new_record.h"
#include "preload/state/pauses.h"
#include "preload/state/thread.h"
#include "preload/trace/trace_file.h"
#include "preload/trace/write_allowance.h"

namespace memtrace::record {

bool put_end(format::EndHow how, std::uint32_t code) {
  format::RingRecord record = record_of(format::EndEvent{code, 0});
  record.kind = static_cast<std::uint8_t>(how);
  return emit(record);
}

void put_note(const char* text, std::size_t bytes) {
  format::RingRecord record = record_of(format::NoteEvent{intern_text(text, bytes), 0});
  emit(record);
}

void put_flows_of_others() {
  format::SmallTotals flows = take_unpublished_of_others();
  add(flows, take_slotless_flows());
  if (is_zero(flows)) return;
  format::RingRecord record = counters_of(flows, draw_stamp());
  emit_bare(record);
}

namespace {

constexpr int kMostAncestors = 8;

// Returns 0 if /proc hides the process.
std::uint64_t parent_of(std::uint64_t pid) {
  Line<48> path;
  const char* const stat = read_kernel_file(path.add("/proc/").add(pid).add("/stat").text());
  const char* const name_end = stat == nullptr ? nullptr : std::strrchr(stat, ')'); // "7 (name) S 6 ..."
  if (name_end == nullptr || std::strlen(name_end) < 4) return 0;
  const std::uint64_t parent = number_at(name_end + 3);
  return parent == format::kNotSaid ? 0 : parent;
}

// Puts "lost.births=EVENTS BYTES UNCOUNTED TENSOR" and "lost.deaths=" with these fields, see LostBlocks.
void note_lost_blocks() {
  const format::LostBlocks lost = lost_blocks_so_far();
  if ((lost.births | lost.deaths) == 0) return;
  Line<160> text;
  const auto put_sums = [&text](std::uint64_t events, std::uint64_t bytes, std::uint64_t uncounted,
                                std::uint64_t tensor) {
    put_note(text.add(events).add(" ").add(bytes).add(" ").add(uncounted).add(" ").add(tensor));
    text.clear();
  };
  text.add("lost.births=");
  put_sums(lost.births, lost.birth_bytes, lost.uncounted_birth_bytes, lost.tensor_birth_bytes);
  text.add("lost.deaths=");
  put_sums(lost.deaths, lost.death_bytes, lost.uncounted_death_bytes, lost.tensor_death_bytes);
}

} // namespace

void note_ancestors() {
  Line<160> text;
  text.add("ancestors=");
  std::uint64_t pid = parent_of(static_cast<std::uint64_t>(os::parent_id()));
  for (int i = 0; i < kMostAncestors && pid > 1; ++i) {
    text.add(i == 0 ? "" : " ").add(pid);
    pid = parent_of(pid);
  }
  if (text.size() > std::strlen("ancestors=")) put_note(text);
}

void note_grid() {
  const char* const grid = start_environment("MEMTRACE_RANKS");
  if (grid == nullptr || format::parse_grid(grid) == 0) return;
  Line<320> text;
  put_note(text.add("ranks=").add(grid));
}

void note_losses() {
  for (std::size_t i = 0; i < format::kLosses; ++i) {
    const std::uint64_t count = lost_so_far(static_cast<format::Loss>(i));
    if (count == 0) continue;
    Line<64> text;
    put_note(text.add("lost.").add(format::kLossNames[i]).add("=").add(count));
  }
  note_lost_blocks();
}

void note_pauses() {
  const format::Pauses pauses = pauses_so_far();
  Line<256> text;
  text.add("pauses=").add(pauses.sum_ns).add(" ").add(pauses.longest_ns);
  for (const std::uint64_t count : pauses.count) text.add(" ").add(count);
  if (pauses.sum_ns != 0) put_note(text);
}

void note_own_memory() {
  Line<64> text;
  put_note(text.add("own=").add(ring_header()->own_bytes));
}

void note_quota() {
  if (quota().detail == Detail::full && !bound_became_known()) return;
  Line<64> text;
  put_note(
      text.add(quota().detail == Detail::counts ? "bound=counts " : "bound=node ").add(trace_file.max_bytes));
}

} // namespace memtrace::record
