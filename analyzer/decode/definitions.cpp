// Purpose: what ids mean: texts, code, modules, stacks.
#include "analyzer/decode/definitions.h"

#include <algorithm>
#include <cstring>

namespace memtrace::trace {
namespace {

using format::EventType;
using format::high;
using format::low;

constexpr std::size_t kLongestText = 1 << 20; // an argv may be long, a hostile chain of chunks endless
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
      codes_[low(record.word[0])] = {format::TextId{low(record.word[1])}, format::TextId{high(record.word[1])},
                                     high(record.word[0])};
      break;
    case EventType::module:
      add_module(record);
      break;
    case EventType::stack:
      stacks_[low(record.word[0])] = {high(record.word[0]),
                                      {(record.flags & format::kPythonFrame) != 0, record.word[1]}};
      break;
    default:
      break;
  }
}

void Definitions::add_text(std::uint32_t thread, const format::RingRecord& record) {
  const std::uint32_t id = low(record.word[0]);
  const std::size_t bytes = std::min<std::size_t>(record.flags & 0xFF, format::kTextChunk);
  OpenText& open = open_texts_[thread];
  if (open.id != id) {
    keep(open);
    open.id = id;
  }
  if (open.text.size() < kLongestText) open.text.append(reinterpret_cast<const char*>(&record.word[1]), bytes);
  if ((record.flags & format::kTextMore) != 0) return;
  keep(open);
  open_texts_.erase(thread);
}

// A text may be said again, and a window may begin in the middle of one: the longer one is the whole.
void Definitions::keep(OpenText& text) {
  if (text.id == 0) return;
  std::string& known = texts_[text.id];
  if (text.text.size() > known.size()) known = std::move(text.text);
  text = {};
}

void Definitions::finish() {
  for (auto& [thread, text] : open_texts_) keep(text);
  open_texts_.clear();
}

void Definitions::add_module(const format::RingRecord& record) {
  Module module;
  module.path = format::TextId{high(record.word[0])};
  module.bias = record.word[1];
  module.first = record.word[2];
  module.pages = low(record.word[3]);
  std::uint8_t id[20];
  std::memcpy(id, &record.word[4], 16);
  const std::uint32_t tail = high(record.word[3]);
  std::memcpy(id + 16, &tail, 4);
  module.build_id.assign(id, id + std::min<std::size_t>(record.flags & 0xFF, sizeof id));
  const auto [at, fresh] = module_index_.try_emplace(low(record.word[0]), modules_.size());
  if (fresh) {
    modules_.push_back(std::move(module));
  } else {
    modules_[at->second] = std::move(module); // said again, e.g. kept by a drain that was interrupted
  }
}

const std::string& Definitions::whole_text(format::TextId id) const {
  static const std::string none;
  const auto number = static_cast<std::uint32_t>(id);
  if (number == 0) return none;
  if (const auto at = texts_.find(number); at != texts_.end()) return at->second;
  std::string& lost = lost_[number];
  if (lost.empty()) lost = "text#" + std::to_string(number) + "?";
  return lost;
}

const std::string& Definitions::text(format::TextId id) const {
  const std::string& whole = whole_text(id);
  if (whole.size() <= kLongestName) return whole;
  std::string& cut = cut_[static_cast<std::uint32_t>(id)];
  if (cut.empty()) cut = shortened_name(whole, kLongestName);
  return cut;
}

const Definitions::Node* Definitions::node(std::uint32_t stack) const {
  const auto at = stacks_.find(stack);
  return at != stacks_.end() ? &at->second : nullptr;
}

const Code* Definitions::code(format::CodeId id) const {
  const auto at = codes_.find(static_cast<std::uint32_t>(id));
  return at != codes_.end() ? &at->second : nullptr;
}

std::vector<Frame> Definitions::frames(format::StackId id, bool* complete) const {
  std::vector<Frame> frames;
  auto number = static_cast<std::uint32_t>(id);
  while (number != 0 && frames.size() < kDeepestStack) {
    const Node* const at = node(number);
    if (at == nullptr) break;
    frames.push_back(at->frame);
    number = at->caller;
  }
  if (complete != nullptr) *complete = number == 0;
  return frames;
}

} // namespace memtrace::trace
