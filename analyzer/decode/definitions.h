// Purpose: the meaning of ids: texts, code, modules, stacks.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "preload/format/records.h"

namespace memtrace::trace {

struct Code {
  format::TextId function{};
  format::TextId file{};
  std::uint32_t first_line = 0;
};

struct Module {
  format::TextId path{};
  std::uint64_t bias = 0;  // run-time address minus address in the file
  std::uint64_t first = 0; // first mapped address
  std::uint64_t pages = 0;
  std::vector<std::uint8_t> build_id; // empty: unknown
};

struct Frame {
  bool python = false;
  std::uint64_t value = 0; // python: lo CodeId, hi line; native: return address
};

// True for the frame between the frames of a backward evaluation (inner) and those of its forward call (outer).
constexpr bool is_forward_call(const Frame& frame) {
  return !frame.python && frame.value == format::kForwardCall;
}

inline constexpr std::size_t kLongestName = 4096; // bytes of a name: the most that a path has

// Returns `name`. If it is longer than `most` bytes, returns so many of them and a mark with its full length.
std::string shortened_name(const std::string& name, std::size_t most);

// Memory grows with what the process interned, not with its events.
class Definitions {
 public:
  // Takes text, code, module and stack records of any thread, in the order of that thread. Ignores all other
  // records.
  void add(std::uint32_t thread, const format::RingRecord& record);

  // Call it after the last record. A text whose last chunk is missing ends with the last chunk that came.
  void finish();

  // Returns the text of an id, cut after kLongestName bytes with a mark. Returns "" for id 0, and "text#N?" if
  // its record was lost. There is one copy of each text. The reference is valid as long as the definitions.
  const std::string& text(format::TextId id) const;
  // Returns the text without a cut: for an argv, and for names joined to a path.
  const std::string& whole_text(format::TextId id) const;
  const Code* code(format::CodeId id) const; // null: lost
  // In the order in which they were recorded. If two are at one address, the later one counts.
  const std::vector<Module>& modules() const { return modules_; }
  // Returns the frames, innermost first. If a loss cut the chain, it ends there and `complete` becomes false.
  std::vector<Frame> frames(format::StackId id, bool* complete = nullptr) const;
  struct StackNode {
    std::uint32_t caller = 0; // a StackId; the chain may be a circle
    Frame frame;
  };
  const StackNode* node(std::uint32_t stack) const;                                     // null: lost, or 0
  const std::unordered_map<std::uint32_t, StackNode>& nodes() const { return stacks_; } // by StackId

 private:
  struct OpenText {
    format::TextId id{};
    std::string text{};
  };
  void add_text(std::uint32_t thread, const format::RingRecord& record);
  void keep(OpenText& text);
  void add_code(const format::RingRecord& record);
  void add_module(const format::RingRecord& record);
  void add_stack(const format::RingRecord& record);

  std::unordered_map<format::TextId, std::string> texts_;
  mutable std::unordered_map<format::TextId, std::string> cut_, lost_; // made at their first use
  std::unordered_map<std::uint32_t, OpenText> open_texts_;             // thread -> the text of its next chunk
  std::unordered_map<format::CodeId, Code> codes_;
  std::unordered_map<format::ModuleId, std::size_t> module_index_;
  std::vector<Module> modules_;
  std::unordered_map<std::uint32_t, StackNode> stacks_;
};

} // namespace memtrace::trace
