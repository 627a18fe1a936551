// Purpose: what ids mean: texts, code, modules, stacks.
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
  std::uint64_t bias = 0;  // run-time address less address in the file
  std::uint64_t first = 0; // first mapped address
  std::uint64_t pages = 0;
  std::vector<std::uint8_t> build_id; // empty: unknown
};

struct Frame {
  bool python = false;
  std::uint64_t value = 0; // python: lo CodeId, hi line; native: return address
};

inline constexpr std::size_t kLongestName = 4096; // bytes of a name: as many as a path has at most

// `name`, or so much of it, with a mark that says how long it was. Where to cut is the caller's.
std::string shortened_name(const std::string& name, std::size_t most);

// Grows with what the process interned, not with its events.
class Definitions {
 public:
  // Takes text, code, module and stack records, of any thread, in the order of that thread. Others: no effect.
  void add(std::uint32_t thread, const format::RingRecord& record);

  // No more records will come: a text whose last chunk is missing is as long as it got.
  void finish();

  // The text of an id, cut after kLongestName bytes with a mark; "" for id 0; "text#N?" when its record was
  // lost. There is one copy of each, and the reference holds as long as the definitions.
  const std::string& text(format::TextId id) const;
  // The same, not cut: of an argv, and of names joined to a path.
  const std::string& whole_text(format::TextId id) const;
  const Code* code(format::CodeId id) const; // null: lost
  // In the order they were recorded: of two at one address the later one holds.
  const std::vector<Module>& modules() const { return modules_; }
  // Innermost first. A chain that was cut by a loss ends there; `complete` then turns false.
  std::vector<Frame> frames(format::StackId id, bool* complete = nullptr) const;
  struct StackNode {
    std::uint32_t caller = 0; // a StackId; may run in circles
    Frame frame;
  };
  const StackNode* node(std::uint32_t stack) const; // null: lost, or 0

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
  mutable std::unordered_map<format::TextId, std::string> cut_, lost_; // made when they are asked for
  std::unordered_map<std::uint32_t, OpenText> open_texts_; // thread -> what its next chunk belongs to
  std::unordered_map<format::CodeId, Code> codes_;
  std::unordered_map<format::ModuleId, std::size_t> module_index_;
  std::vector<Module> modules_;
  std::unordered_map<std::uint32_t, StackNode> stacks_;
};

} // namespace memtrace::trace
