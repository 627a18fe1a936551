// Purpose: the meaning of ids: texts, code, modules, stacks.
#include "analyzer/decode/definitions.h"

#include <algorithm>
#include <cstring>

#include "preload/format/definition_events.h"

namespace memtrace::trace {
namespace {

using format::EventType;

constexpr std::size_t kLongestText = 1 << 20; // an argv may be long, and a hostile chain of chunks endless
constexpr std::size_t kDeepestStack = 1024;

} // namespace

std::string shortened_name(const std::string& name, std::size_t most) {
  if (name.size() <= most) return name;
  return name.substr(0, most) + "...[cut, " + std::to_string(name.size()) + " bytes]";
}

void Definitions::add(std::uint32_t thread, const format::RingRecord& record) {
  switch (static_cast<EventType>(record.type)) {
    case EventType::text:
      add_text(thread, record);
      break;
    case EventType::code:
      add_code(record);
      break;
    case EventType::module:
      add_module(record);
      break;
    case EventType::stack:
      add_stack(record);
      break;
    default:
      break;
  }
}

void Definitions::add_text(std::uint32_t thread, const format::RingRecord& record) {
  const auto chunk = record.as<format::TextEvent>();
  const std::size_t bytes = std::min<std::size_t>(record.flags & 0xFF, sizeof chunk.bytes);
  OpenText& open = open_texts_[thread];
  if (open.id != chunk.id) {
    keep(open);
    open.id = chunk.id;
  }
  if (open.text.size() < kLongestText) open.text.append(chunk.bytes, bytes);
  if ((record.flags & format::kTextMore) != 0) return;
  keep(open);
  open_texts_.erase(thread);
}

// A text may be recorded again, and a window may begin in the middle of one. The longest version is the whole
// text.
void Definitions::keep(OpenText& text) {
  if (text.id == format::TextId{}) return;
  std::string& known = texts_[text.id];
  if (text.text.size() > known.size()) known = std::move(text.text);
  text = {};
}

void Definitions::finish() {
  for (auto& [thread, text] : open_texts_) keep(text);
  open_texts_.clear();
}

void Definitions::add_code(const format::RingRecord& record) {
  const auto code = record.as<format::CodeEvent>();
  codes_[code.id] = {code.function, code.file, code.first_line};
}

void Definitions::add_stack(const format::RingRecord& record) {
  const auto stack = record.as<format::StackEvent>();
  stacks_[static_cast<std::uint32_t>(stack.id)] = {static_cast<std::uint32_t>(stack.caller),
                                                   {(record.flags & format::kPythonFrame) != 0, stack.frame}};
}

void Definitions::add_module(const format::RingRecord& record) {
  const auto said = record.as<format::ModuleEvent>();
  Module module;
  module.path = said.path;
  module.bias = said.bias;
  module.first = said.first;
  module.pages = said.pages;
  std::uint8_t id[sizeof said.build_id + sizeof said.build_id_tail];
  std::memcpy(id, said.build_id, sizeof said.build_id);
  std::memcpy(id + sizeof said.build_id, said.build_id_tail, sizeof said.build_id_tail);
  module.build_id.assign(id, id + std::min<std::size_t>(record.flags & 0xFF, sizeof id));
  const auto [at, fresh] = module_index_.try_emplace(said.id, modules_.size());
  if (fresh) {
    modules_.push_back(std::move(module));
  } else {
    modules_[at->second] = std::move(module); // recorded again, e.g. retained by a drain that was interrupted
  }
}

const std::string& Definitions::whole_text(format::TextId id) const {
  static const std::string none;
  if (id == format::TextId{}) return none;
  if (const auto at = texts_.find(id); at != texts_.end()) return at->second;
  std::string& lost = lost_[id];
  if (lost.empty()) lost = "text#" + std::to_string(static_cast<std::uint32_t>(id)) + "?";
  return lost;
}

const std::string& Definitions::text(format::TextId id) const {
  const std::string& whole = whole_text(id);
  if (whole.size() <= kLongestName) return whole;
  std::string& cut = cut_[id];
  if (cut.empty()) cut = shortened_name(whole, kLongestName);
  return cut;
}

const Definitions::StackNode* Definitions::node(std::uint32_t stack) const {
  const auto at = stacks_.find(stack);
  return at != stacks_.end() ? &at->second : nullptr;
}

const Code* Definitions::code(format::CodeId id) const {
  const auto at = codes_.find(id);
  return at != codes_.end() ? &at->second : nullptr;
}

std::vector<Frame> Definitions::frames(format::StackId id, bool* complete) const {
  std::vector<Frame> frames;
  auto number = static_cast<std::uint32_t>(id);
  while (number != 0 && frames.size() < kDeepestStack) {
    const StackNode* const at = node(number);
    if (at == nullptr) break;
    frames.push_back(at->frame);
    number = at->caller;
  }
  if (complete != nullptr) *complete = number == 0;
  return frames;
}

} // namespace memtrace::trace
