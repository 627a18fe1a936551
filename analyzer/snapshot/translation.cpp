// Purpose: turns a memory snapshot of PyTorch into a trace, with its names and its evidence beside it.
#include "analyzer/snapshot/translation.h"

#include <algorithm>
#include <deque>
#include <set>

#include "analyzer/evidence/evidence_store.h"
#include "analyzer/snapshot/allocator_history.h"
#include "preload/format/crc32c.h"

namespace memtrace::snapshot {
namespace {

constexpr std::uint64_t kMostVisits = 1000; // more than the bytes of a file
constexpr std::uint64_t kLongestUs = std::uint64_t{1} << 52;

// Writes the allocators and the annotations as one trace, by their times.
class Translation {
 public:
  Translation(const PickleTree& tree, const std::string& path, const std::string& name,
              const TakeFilePart& take)
      : path_(path),
        name_(name),
        take_(take),
        visits_(path, tree.file().size() + kMostVisits),
        snapshot_(read_torch_snapshot(tree, path, visits_)),
        definitions_(id_of(tree), format::Source::definitions, part_of_trace()),
        events_(id_of(tree), format::Source::ring, part_of_trace()),
        stacks_(tree, visits_, definitions_) {
    for (std::size_t i = 0; i < snapshot_.devices.size(); ++i) add(snapshot_.devices[i], i + 1);
    add(snapshot_.pinned, 0);
    first_us_ = history_ == 0 ? 0 : std::min(first_us_, ~std::uint64_t{0} / 1000);
    leave_out_early_annotations();
  }

  void write() {
    describe();
    for (AllocatorHistory& allocator : allocators_) allocator.begin();
    while (write_next()) {
    }
    for (AllocatorHistory& allocator : allocators_) allocator.finish();
    const symbols::StoredNames names = stacks_.finish();
    definitions_.finish();
    events_.finish();
    take_(symbols::names_file_of(name_), symbols::text_of(names));
    evidence::Evidence evidence;
    evidence.closed = true;
    evidence.running = !ended_by_oom();
    evidence.log = "a snapshot of PyTorch has no log";
    take_(evidence::store_of(name_), evidence::text_of(evidence));
  }

 private:
  TraceSegments::Take part_of_trace() {
    return [this](std::string_view part) { take_(name_, part); };
  }

  static std::uint64_t id_of(const PickleTree& tree) {
    constexpr std::uint64_t kOfSnapshots = std::uint64_t{0x746F7263} << 32;
    return kOfSnapshots | format::checksum(0, tree.file().data(), tree.file().size());
  }

  void add(const SnapshotAllocator& allocator, std::size_t memory) {
    if (memory == 0 && allocator.segments.empty() && allocator.events.empty()) return;
    allocators_.emplace_back(allocator, memory, snapshot_.max_split, stacks_,
                             [this](format::RingRecord record) { put(record); });
    history_ += allocator.events.size();
    if (!allocator.events.empty()) first_us_ = std::min(first_us_, allocator.events.front().time_us);
  }

  // Writes the facts of the process, as far as the snapshot has them.
  void describe() {
    format::ProcessEvent process{};
    process.unix_ns = first_us_ * 1000;
    process.executable = stacks_.text(path_);
    process.page_bytes = format::kPage;
    stacks_.define(process);
    std::size_t older = 0;
    for (const AllocatorHistory& allocator : allocators_)
      older += allocator.blocks_before() + allocator.segments_before();
    note("kind=main");
    note("torch-snapshot=" + std::to_string(history_));
    note("torch-snapshot-older=" + std::to_string(older));
    if (!snapshot_.pinned.segments.empty() || !snapshot_.pinned.events.empty()) note("torch-snapshot-pinned=1");
  }
  void note(const std::string& text) {
    stacks_.define(format::NoteEvent{stacks_.text(notes_.emplace_back(text)), 0});
  }

  // Leaves out the annotations that ended before the first event: no figure of them is known. Those that began
  // before it and went on begin with it.
  void leave_out_early_annotations() {
    const std::vector<TorchAnnotation> all = std::move(snapshot_.annotations);
    snapshot_.annotations.clear();
    if (history_ == 0) return;
    std::size_t first = 0;
    std::map<std::string_view, std::vector<std::size_t>> open;
    for (; first < all.size() && all[first].time_us < first_us_; ++first) {
      std::vector<std::size_t>& same = open[all[first].name];
      if (all[first].begins)
        same.push_back(first);
      else if (!same.empty())
        same.pop_back();
    }
    std::set<std::size_t> kept;
    for (const auto& [name, indices] : open) kept.insert(indices.begin(), indices.end());
    for (const std::size_t i : kept) snapshot_.annotations.push_back(all[i]);
    snapshot_.annotations.insert(snapshot_.annotations.end(), all.begin() + static_cast<std::ptrdiff_t>(first),
                                 all.end());
  }

  // Writes the event or the annotation with the lowest time. Returns false if there is none left. At one time,
  // a phase begins before the events, and ends after them.
  bool write_next() {
    AllocatorHistory* first = nullptr;
    for (AllocatorHistory& allocator : allocators_)
      if (!allocator.done() && (first == nullptr || allocator.next_time() < first->next_time()))
        first = &allocator;
    const bool marked = next_annotation_ < snapshot_.annotations.size();
    if (first == nullptr && !marked) return false;
    if (marked) {
      const TorchAnnotation& next = snapshot_.annotations[next_annotation_];
      if (first == nullptr || next.time_us < first->next_time() ||
          (next.begins && next.time_us == first->next_time())) {
        ++next_annotation_;
        now_us_ = std::max(now_us_, next.time_us);
        mark(next);
        return true;
      }
    }
    now_us_ = std::max(now_us_, first->next_time());
    first->write_next();
    return true;
  }

  // The end of a phase that began before the history is left out.
  void mark(const TorchAnnotation& annotation) {
    const format::TextId name = stacks_.text(annotation.name);
    std::uint64_t& open = open_[name];
    format::RingRecord record{};
    if (annotation.begins) {
      record.put(format::PhaseBeginEvent{name, depth_++});
      ++open;
    } else {
      if (open == 0) return;
      record.put(format::PhaseEndEvent{name, --depth_});
      --open;
    }
    put(record);
  }

  void put(format::RingRecord record) {
    const std::uint64_t us = std::min(now_us_ - std::min(now_us_, first_us_), kLongestUs);
    stamp_ = std::max(stamp_ + 1, StackTable::kFirstStamp + us * 1000);
    record.stamp = stamp_;
    events_.add(record);
  }

  bool ended_by_oom() const {
    return std::any_of(snapshot_.devices.begin(), snapshot_.devices.end(), [](const SnapshotAllocator& device) {
      return !device.events.empty() && device.events.back().action == TorchAction::oom;
    });
  }

  const std::string& path_;
  const std::string& name_;
  const TakeFilePart& take_;
  VisitCount visits_;
  TorchSnapshot snapshot_;
  TraceSegments definitions_, events_;
  StackTable stacks_;
  std::deque<std::string> notes_; // their texts stay where they are
  std::deque<AllocatorHistory> allocators_;
  std::map<format::TextId, std::uint64_t> open_; // phases
  std::uint32_t depth_ = 0;
  std::size_t next_annotation_ = 0;
  std::size_t history_ = 0;                    // events of all allocators
  std::uint64_t first_us_ = ~std::uint64_t{0}; // of the first event of any allocator
  std::uint64_t now_us_ = 0;
  format::Stamp stamp_ = StackTable::kFirstStamp;
};

} // namespace

void translate(const PickleTree& tree, const std::string& path, const std::string& name,
               const TakeFilePart& take) {
  Translation(tree, path, name, take).write();
}

} // namespace memtrace::snapshot
