// Purpose: the texts and stacks of a snapshot, as the definitions of a trace.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyzer/snapshot/pickle_tree.h"
#include "analyzer/snapshot/torch_snapshot.h"
#include "analyzer/snapshot/trace_segments.h"
#include "analyzer/symbols/stored_names.h"

namespace memtrace::snapshot {

// A frame of Python code becomes a frame with its file and line. Any other frame gets an address of its own in
// a module without a file, and its name goes to the file of names beside the trace.
class StackTable {
 public:
  StackTable(const PickleTree& tree, VisitCount& visits, TraceSegments& definitions)
      : tree_(tree), visits_(visits), definitions_(definitions) {}

  format::TextId text(std::string_view text);
  // Returns the stack of a list of frames, innermost first. Reads each list once.
  format::StackId stack(PickleValue frames);
  // Writes the module of the native frames, and returns their names.
  symbols::StoredNames finish();

  template <class Event>
  void define(const Event& event, std::uint16_t flags = 0) {
    format::RingRecord record{};
    record.put(event);
    record.flags = flags;
    record.stamp = kFirstStamp;
    definitions_.add(record);
  }

  static constexpr format::Stamp kFirstStamp = 1'000'000'000;

 private:
  struct FrameCode { // as a stack record has it
    std::uint64_t value = 0;
    bool python = false;
  };
  FrameCode frame(PickleValue from);
  std::uint64_t python_frame(std::string_view function, std::string_view file, std::uint32_t line);
  std::uint64_t native_frame(std::string_view function, std::string_view file, std::uint32_t line);

  const PickleTree& tree_;
  VisitCount& visits_;
  TraceSegments& definitions_;
  std::unordered_map<std::string_view, format::TextId> texts_;
  std::unordered_map<std::uint64_t, FrameCode> frames_; // by the dict
  std::map<std::pair<format::TextId, format::TextId>, format::CodeId> codes_;
  std::map<std::tuple<std::string_view, std::string_view, std::uint32_t>, std::uint64_t> natives_;
  std::unordered_map<std::uint64_t, format::StackId> lists_; // by the list
  std::map<std::tuple<std::uint32_t, std::uint64_t, bool>, format::StackId> stacks_;
};

} // namespace memtrace::snapshot
