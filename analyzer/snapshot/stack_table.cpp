// Purpose: the texts and stacks of a snapshot, as the definitions of a trace.
#include "analyzer/snapshot/stack_table.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "preload/format/event_fields.h"

namespace memtrace::snapshot {
namespace {

// The addresses of native frames: their names are looked up a byte before.
constexpr std::uint64_t kFirstAddress = 0x10000;
constexpr std::uint64_t kAddressStep = 16;

// Python names code without a file "<string>" or "<frozen importlib._bootstrap>". C++ has "??" or nothing.
bool is_python(std::string_view file) {
  return file.ends_with(".py") || file.starts_with('<');
}

} // namespace

format::TextId StackTable::text(std::string_view text) {
  if (text.empty()) return {};
  const auto [at, fresh] = texts_.try_emplace(text, static_cast<format::TextId>(texts_.size() + 1));
  while (fresh && !text.empty()) {
    const std::string_view piece = text.substr(0, format::kTextChunk);
    text.remove_prefix(piece.size());
    format::TextEvent event{at->second, 0, {}};
    std::memcpy(event.bytes, piece.data(), piece.size());
    define(event, static_cast<std::uint16_t>(piece.size() | (text.empty() ? 0 : format::kTextMore)));
  }
  return at->second;
}

std::uint64_t StackTable::python_frame(std::string_view function, std::string_view file, std::uint32_t line) {
  const std::pair key{text(function), text(file)};
  const auto [at, fresh] = codes_.try_emplace(key, static_cast<format::CodeId>(codes_.size() + 1));
  if (fresh) define(format::CodeEvent{at->second, 0, key.first, key.second});
  return format::halves(static_cast<std::uint32_t>(at->second), line);
}

std::uint64_t StackTable::native_frame(std::string_view function, std::string_view file, std::uint32_t line) {
  if (file == "??") file = {};
  const std::uint64_t next = kFirstAddress + kAddressStep * (natives_.size() + 1);
  return natives_.try_emplace({function, file, line}, next).first->second;
}

StackTable::FrameCode StackTable::frame(PickleValue from) {
  if (from.type() != PickleType::dict) return {};
  const auto [at, fresh] = frames_.try_emplace(from.payload());
  if (!fresh) return at->second;
  visits_.add(tree_.items(from).size());
  const std::string_view function = tree_.text(value_of(tree_, from, "name"));
  const std::string_view file = tree_.text(value_of(tree_, from, "filename"));
  const std::uint64_t said = tree_.number(value_of(tree_, from, "line")).value_or(0);
  const auto line =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(said, std::numeric_limits<std::uint32_t>::max()));
  const bool python = is_python(file);
  at->second = {python ? python_frame(function, file, line) : native_frame(function, file, line), python};
  return at->second;
}

format::StackId StackTable::stack(PickleValue frames) {
  if (frames.type() != PickleType::list) return {};
  const auto [known, fresh] = lists_.try_emplace(frames.payload());
  if (!fresh) return known->second;
  const PickleTree::Items& items = tree_.items(frames);
  visits_.add(items.size());
  format::StackId caller{};
  for (std::size_t i = items.size(); i-- > 0;) {
    const FrameCode code = frame(items[i]);
    if (code.value == 0) continue;
    const auto id = static_cast<format::StackId>(stacks_.size() + 1);
    const auto [at, added] =
        stacks_.try_emplace({static_cast<std::uint32_t>(caller), code.value, code.python}, id);
    if (added)
      define(format::StackEvent{id, caller, code.value}, code.python ? format::kPythonFrame : std::uint16_t{0});
    caller = at->second;
  }
  return known->second = caller;
}

symbols::StoredNames StackTable::finish() {
  symbols::StoredNames names;
  for (const auto& [frame, address] : natives_) {
    const auto& [function, file, line] = frame;
    names.natives[address] = {{std::string(function), std::string(file), line}};
  }
  const std::uint64_t bytes = kAddressStep * (natives_.size() + 1) + format::kPage;
  if (!natives_.empty()) {
    format::ModuleEvent module{};
    module.id = format::ModuleId{1};
    module.bias = kFirstAddress;
    module.first = kFirstAddress;
    module.pages = static_cast<std::uint32_t>(bytes / format::kPage + 1);
    define(module);
  }
  return names;
}

} // namespace memtrace::snapshot
