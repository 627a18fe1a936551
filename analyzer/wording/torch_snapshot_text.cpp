// Purpose: says what a memory snapshot of PyTorch holds, and what it cannot show.
#include "analyzer/wording/torch_snapshot_text.h"

#include <fmt/core.h>

#include <charconv>

#include "analyzer/wording/units.h"

namespace memtrace::report {
namespace {

std::optional<std::uint64_t> noted_number(const trace::Facts& facts, const char* key) {
  const auto note = facts.note(key);
  if (!note) return std::nullopt;
  std::uint64_t value = 0;
  std::from_chars(note->data(), note->data() + note->size(), value);
  return value;
}

} // namespace

std::optional<TorchHistory> torch_history(const trace::Facts& facts) {
  const auto events = noted_number(facts, "torch-snapshot");
  if (!events) return std::nullopt;
  return TorchHistory{*events, noted_number(facts, "torch-snapshot-older").value_or(0),
                      facts.note("torch-snapshot-pinned").has_value()};
}

std::string history_text(const TorchHistory& history) {
  std::string text;
  if (history.events == 0)
    text =
        "This snapshot has no history, only the state when it was taken. "
        "torch.cuda.memory._record_memory_history() at the start of the program records one.";
  else if (history.older == 0)
    text = fmt::format("Its history has {} events, from the first allocation on.", count(history.events));
  else
    text = fmt::format(
        "Its history has {} events, and earlier ones are missing: {} blocks and segments are older. What was "
        "freed before the first event is not known. A larger max_entries of _record_memory_history(), called "
        "at the start of the program, records more.",
        count(history.events), count(history.older));
  return text + (history.pinned ? " Of host memory, it has what PyTorch's pinned allocator took."
                                : " A snapshot has no host memory.");
}

} // namespace memtrace::report
