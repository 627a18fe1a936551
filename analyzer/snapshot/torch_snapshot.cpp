// Purpose: what PyTorch's torch.cuda.memory._dump_snapshot() wrote: the state of its caching allocators, and
// the history of their events.
#include "analyzer/snapshot/torch_snapshot.h"

#include <array>
#include <utility>

#include "analyzer/decode/read_error.h"

namespace memtrace::snapshot {
namespace {

constexpr std::uint64_t kMostDevices = 254; // a memory has a byte, and the host is one

constexpr std::array<std::pair<std::string_view, TorchAction>, 8> kActions = {{
    {"alloc", TorchAction::alloc},
    {"free_requested", TorchAction::free_requested},
    {"free_completed", TorchAction::free_completed},
    {"segment_alloc", TorchAction::segment_alloc},
    {"segment_free", TorchAction::segment_free},
    {"segment_map", TorchAction::segment_map},
    {"segment_unmap", TorchAction::segment_unmap},
    {"oom", TorchAction::oom},
}};

TorchAction action_named(std::string_view name) {
  for (const auto& [known, action] : kActions)
    if (known == name) return action;
  return TorchAction::other;
}

class SnapshotValues {
 public:
  SnapshotValues(const PickleTree& tree, const std::string& path, VisitCount& visits)
      : tree_(tree), path_(path), visits_(visits) {}

  TorchSnapshot read() {
    const PickleValue root = tree_.root();
    const PickleValue segments = value_of(tree_, root, "segments");
    if (root.type() != PickleType::dict || segments.type() != PickleType::list)
      refuse("expected PyTorch's memory snapshot, a dict with the key \"segments\", but the pickle holds " +
             std::string(words_of(root.type())) +
             (root.type() == PickleType::dict ? " without a list of that name" : ""));
    for (const PickleValue segment : visited(segments))
      take_segment(segment, device(number_or(segment, "device", 0)));
    take_traces(value_of(tree_, root, "device_traces"));
    for (const PickleValue segment : visited(value_of(tree_, root, "host_segments")))
      take_segment(segment, out_.pinned);
    for (const PickleValue event : visited(value_of(tree_, root, "host_traces")))
      take_event(event, out_.pinned);
    take_annotations(value_of(tree_, root, "external_annotations"));
    const PickleValue settings = value_of(tree_, root, "allocator_settings");
    visited(settings);
    if (const auto split = tree_.number(value_of(tree_, settings, "max_split_size"))) out_.max_split = *split;
    return std::move(out_);
  }

 private:
  [[noreturn]] void refuse(const std::string& expected) const { throw trace::ReadError(path_, 0, expected); }

  const PickleTree::Items& visited(PickleValue container) {
    const PickleTree::Items& items = tree_.items(container);
    visits_.add(items.size());
    return items;
  }

  std::uint64_t number(PickleValue dict, const char* key, const char* of) const {
    const PickleValue value = value_of(tree_, dict, key);
    const auto number = tree_.number(value);
    if (!number)
      refuse(std::string("expected a number as the ") + key + " of " + of + ", but found " +
             words_of(value.type()));
    return *number;
  }
  std::uint64_t number_or(PickleValue dict, const char* key, std::uint64_t otherwise) const {
    return tree_.number(value_of(tree_, dict, key)).value_or(otherwise);
  }

  SnapshotAllocator& device(std::uint64_t number) {
    if (number >= kMostDevices) refuse("expected a device below " + std::to_string(kMostDevices));
    if (number >= out_.devices.size()) out_.devices.resize(number + 1);
    return out_.devices[number];
  }

  void take_segment(PickleValue from, SnapshotAllocator& to) {
    visited(from);
    TorchSegment segment;
    segment.address = number(from, "address", "a segment");
    segment.bytes = number(from, "total_size", "a segment");
    segment.expandable = tree_.boolean(value_of(tree_, from, "is_expandable")).value_or(false);
    segment.frames = value_of(tree_, from, "frames");
    to.segments.push_back(segment);
    std::uint64_t next = segment.address; // older versions give no address of a block
    for (const PickleValue block : visited(value_of(tree_, from, "blocks"))) {
      visited(block);
      const std::uint64_t bytes = number(block, "size", "a block");
      const std::uint64_t address = number_or(block, "address", next);
      next = address + bytes;
      // Others are free, or wait until a stream is done with them.
      if (tree_.text(value_of(tree_, block, "state")) != "active_allocated") continue;
      to.blocks.push_back(
          {address, bytes, number_or(block, "requested_size", bytes), value_of(tree_, block, "frames")});
    }
  }

  void take_traces(PickleValue traces) {
    std::uint64_t number_of_device = 0;
    for (const PickleValue events : visited(traces)) {
      const std::uint64_t of = number_of_device++;
      for (const PickleValue event : visited(events)) take_event(event, device(of));
    }
  }

  void take_event(PickleValue from, SnapshotAllocator& to) {
    visited(from);
    TorchEvent event;
    event.action = action_named(tree_.text(value_of(tree_, from, "action")));
    if (event.action == TorchAction::other) return;
    event.address =
        event.action == TorchAction::oom ? number_or(from, "device_free", 0) : number(from, "addr", "an event");
    event.bytes = number(from, "size", "an event");
    event.time_us = number_or(from, "time_us", 0);
    event.frames = value_of(tree_, from, "frames");
    to.events.push_back(event);
  }

  void take_annotations(PickleValue annotations) {
    for (const PickleValue from : visited(annotations)) {
      visited(from);
      const std::string_view stage = tree_.text(value_of(tree_, from, "stage"));
      const std::string_view name = tree_.text(value_of(tree_, from, "name"));
      if (name.empty() || (stage != "START" && stage != "END")) continue;
      out_.annotations.push_back({name, number_or(from, "time_us", 0), stage == "START"});
    }
  }

  const PickleTree& tree_;
  const std::string& path_;
  VisitCount& visits_;
  TorchSnapshot out_;
};

} // namespace

void VisitCount::add(std::uint64_t values) {
  visited_ += values;
  if (visited_ > most_)
    throw trace::ReadError(path_, 0,
                           "expected at most one use of each list in a snapshot, but the pickle refers to the "
                           "same lists many times");
}

// If a key comes twice, the later one counts, as in Python.
PickleValue value_of(const PickleTree& tree, PickleValue dict, std::string_view key) {
  if (dict.type() != PickleType::dict) return {};
  const PickleTree::Items& items = tree.items(dict);
  for (std::size_t i = items.size(); i >= 2; i -= 2)
    if (tree.text(items[i - 2]) == key) return items[i - 1];
  return {};
}

TorchSnapshot read_torch_snapshot(const PickleTree& tree, const std::string& path, VisitCount& visits) {
  return SnapshotValues(tree, path, visits).read();
}

} // namespace memtrace::snapshot
