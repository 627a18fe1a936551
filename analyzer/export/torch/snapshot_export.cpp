// Purpose: writes what was alive at a peak, and how it came, as a memory snapshot of PyTorch.
#include "analyzer/export/torch/snapshot_export.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "analyzer/calltree/call_tree.h"
#include "analyzer/export/timeline/phase_slices.h"
#include "analyzer/export/torch/memory_history.h"
#include "analyzer/export/torch/pickle_writer.h"
#include "analyzer/replay/wrapping_sum.h"
#include "analyzer/wording/utf8.h"

namespace memtrace::report {
namespace {

constexpr std::uint64_t kMostEvents = 500'000; // of a device; PyTorch's viewer draws each
constexpr std::uint64_t kRestAddress = 0x1000; // of the bytes without a record: below every block of a program

class SnapshotExport {
 public:
  SnapshotExport(ProcessAnalysis& analysis, const LeadingPeak& peak, const files::TakePart& take)
      : analysis_(analysis), peak_(peak), at_(peak_of(analysis, peak)), pickle_(take) {}

  void write() {
    pickle_.begin_dict();
    pickle_.text("device_traces");
    pickle_.begin_list();
    std::vector<HistoryEnd> ends;
    const replay::MemoryId last = peak_.memory == 0 ? 0 : analysis_.account.peaks.rbegin()->first;
    for (replay::MemoryId memory = peak_.memory == 0 ? 0 : 1; memory <= last; ++memory)
      ends.push_back(history(memory));
    pickle_.end_list();
    pickle_.text("segments");
    pickle_.begin_list();
    for (std::size_t device = 0; device < ends.size(); ++device)
      for (const PlacedSegment& one : ends[device].segments) segment(device, one);
    pickle_.end_list();
    rest();
    pickle_.end_dict();
    pickle_.finish();
  }

 private:
  std::uint64_t microseconds(format::Stamp stamp) const {
    const trace::Facts& facts = analysis_.facts();
    return (facts.start_unix_ns + (std::max(stamp, facts.start_stamp) - facts.start_stamp)) / 1000;
  }

  // Writes the trace of one device. The bytes without a record came at some time before the peak: they are the
  // last event.
  HistoryEnd history(replay::MemoryId memory) {
    const auto nothing = [](const HistoryEvent&) {};
    const trace::Ordinal until = at_.bucket ? 0 : at_.at;
    const std::uint64_t all = memory_history(*analysis_.trace, memory, peak_.measure, until, 0, nothing).events;
    pickle_.begin_list();
    HistoryEnd end = memory_history(*analysis_.trace, memory, peak_.measure, until,
                                    all > kMostEvents ? all - kMostEvents : 0,
                                    [this](const HistoryEvent& one) { event(one); });
    if (memory == peak_.memory) add_rest(end);
    pickle_.end_list();
    return end;
  }

  void add_rest(HistoryEnd& end) {
    const std::int64_t bytes = replay::wrapping_sub(at_.bytes, end.bytes);
    if (bytes <= 0) return;
    const PlacedBlock block{kRestAddress, static_cast<std::uint64_t>(bytes), {}};
    event({HistoryAction::segment_alloc, block.address, block.bytes, {}, at_.stamp});
    event({HistoryAction::alloc, block.address, block.bytes, {}, at_.stamp});
    end.segments.insert(end.segments.begin(), {block.address, block.bytes, {}, {block}});
  }

  void event(const HistoryEvent& one) {
    constexpr const char* kActions[] = {"segment_alloc", "segment_free", "alloc", "free_requested",
                                        "free_completed"};
    pickle_.begin_dict();
    pickle_.entry("action", kActions[static_cast<std::size_t>(one.action)]);
    pickle_.entry("addr", one.address);
    pickle_.entry("size", one.bytes);
    pickle_.entry("stream", 0);
    pickle_.entry("time_us", microseconds(one.stamp));
    frames(one.stack);
    pickle_.end_dict();
  }

  void segment(std::size_t device, const PlacedSegment& one) {
    std::uint64_t allocated = 0;
    for (const PlacedBlock& block : one.blocks) allocated += block.bytes;
    pickle_.begin_dict();
    pickle_.entry("device", device);
    pickle_.entry("address", one.address);
    pickle_.entry("total_size", one.bytes);
    pickle_.entry("allocated_size", allocated);
    pickle_.entry("active_size", allocated);
    pickle_.entry("requested_size", allocated);
    pickle_.entry("stream", 0);
    pickle_.entry("segment_type", "large");
    pickle_.text("segment_pool_id");
    pickle_.pair(0, 0);
    pickle_.text("is_expandable");
    pickle_.boolean(false);
    frames(one.stack);
    pickle_.text("blocks");
    pickle_.begin_list();
    std::uint64_t at = one.address;
    for (const PlacedBlock& block : one.blocks) {
      if (block.address != at) placed({at, block.address - at, {}}, false);
      placed(block, true);
      at = block.address + block.bytes;
    }
    if (at != one.address + one.bytes) placed({at, one.address + one.bytes - at, {}}, false);
    pickle_.end_list();
    pickle_.end_dict();
  }

  void placed(const PlacedBlock& block, bool active) {
    pickle_.begin_dict();
    pickle_.entry("address", block.address);
    pickle_.entry("size", block.bytes);
    pickle_.entry("requested_size", active ? block.bytes : 0);
    pickle_.entry("state", active ? "active_allocated" : "inactive");
    frames(block.stack);
    pickle_.end_dict();
  }

  // Writes the frames of a stack, innermost first. Each stack is in the file once.
  void frames(format::StackId stack) {
    pickle_.text("frames");
    const auto known = stacks_.find(stack);
    if (known != stacks_.end()) return pickle_.again(known->second);
    pickle_.begin_list();
    if (stack == format::StackId{})
      frame(no_stack_frame());
    else
      for (const symbols::SiteFrame& one : analysis_.symbolizer->site(stack).frames) frame(one);
    pickle_.end_list();
    stacks_[stack] = pickle_.remember();
  }

  void frame(const symbols::SiteFrame& one) {
    pickle_.begin_dict();
    pickle_.entry("name", printable(one.function));
    pickle_.entry("filename", printable(one.line != 0 || one.module.empty() ? one.file : one.module));
    pickle_.entry("line", one.line);
    pickle_.end_dict();
  }

  // The phases until the peak, as PyTorch's record_function has them.
  void annotations() {
    std::map<std::uint32_t, std::vector<std::string>> open; // by thread
    each_slice_edge(*analysis_.trace, [&](const SliceEdge& edge) {
      if (!edge.thread || edge.stamp > at_.stamp) return;
      std::vector<std::string>& names = open[*edge.thread];
      if (edge.begins) names.push_back(printable(edge.name));
      if (names.empty()) return; // the stamps of a damaged trace may run backwards
      pickle_.begin_dict();
      pickle_.entry("stage", edge.begins ? "START" : "END");
      pickle_.entry("name", names.back());
      pickle_.entry("device", 0);
      pickle_.entry("time_us", microseconds(edge.stamp));
      pickle_.end_dict();
      if (!edge.begins) names.pop_back();
    });
  }

  void rest() {
    pickle_.text("allocator_settings");
    pickle_.begin_dict();
    pickle_.end_dict();
    pickle_.text("external_annotations");
    pickle_.begin_list();
    annotations();
    pickle_.end_list();
  }

  ProcessAnalysis& analysis_;
  const LeadingPeak peak_;
  const replay::Peak& at_;
  PickleWriter pickle_;
  std::unordered_map<format::StackId, std::uint32_t> stacks_; // written frames
};

} // namespace

void write_torch_snapshot(ProcessAnalysis& analysis, const LeadingPeak& peak, const files::TakePart& take) {
  SnapshotExport(analysis, peak, take).write();
}

} // namespace memtrace::report
