// Purpose: facts that the hooks in the framework report: the size of the model, its pinned memory, roles of
// tensors, notes.
// Runs: on the program's thread, outside malloc.
#include "preload/marks/framework_facts.h"

#include <cstring>

#include "preload/blocks/recording.h"
#include "preload/bounded/fixed_string.h"
#include "preload/format/block_events.h"
#include "preload/format/process_events.h"
#include "preload/marks/mark_text.h"
#include "preload/record/model_modules.h"
#include "preload/record/process_groups.h"
#include "preload/rss/inherited_ranges.h"
#include "preload/state/pauses.h"
#include "preload/trace/write_allowance.h"

namespace memtrace::record {

void parameters(std::uint64_t count, std::uint64_t trainable, std::uint64_t bytes, std::uint64_t tensors) {
  if (const Recording here; here) here.mark(format::ParametersEvent{count, trainable, bytes, tensors});
}

void parameter_dtype(const char* dtype, std::size_t bytes, std::uint64_t count) {
  const Recording here;
  if (here) here.mark(format::ParameterDtypeEvent{mark_text(dtype, bytes), 0, count});
}

void pinned_use(std::uint64_t in_use, std::uint64_t held) {
  if (const Recording here; here) here.mark(format::ReservedEvent{in_use, held});
}

void label(const void* address, std::uint64_t bytes, const char* role, const char* name, unsigned memory,
           const char* module) {
  const Recording here;
  if (!here) return;
  const format::TextId role_text = mark_text(role, std::strlen(role));
  const format::TextId name_text = mark_text(name, std::strlen(name));
  const format::TextId module_text =
      *module == '\0' ? format::TextId{} : mark_text(module, std::strlen(module));
  here.mark(
      format::LabelEvent{reinterpret_cast<std::uint64_t>(address), bytes, role_text, name_text, module_text, 0},
      static_cast<std::uint16_t>(memory << format::kMemoryShift));
}

void note_module_path(const void* self, const char* path, std::size_t bytes) {
  if (const Recording here; here) name_module(self, mark_text(path, bytes));
}

void note_group_name(std::uint64_t key, const char* name, std::size_t bytes) {
  if (const Recording here; here) name_group(key, mark_text(name, bytes));
}

void note_copied_at_first_item() {
  const Recording here;
  if (!here) return;
  const std::uint64_t copied = count_copied();
  if (copied == format::kNotSaid) return;
  Line<64> text;
  text.add("copied-at-first-item=").add(copied);
  here.mark(format::NoteEvent{mark_text(text.text(), text.size()), 0});
}

namespace {

bool begins_with(const char* text, std::size_t bytes, const char* start) {
  const std::size_t length = std::strlen(start);
  return bytes >= length && std::memcmp(text, start, length) == 0;
}

bool is_text(const char* text, std::size_t bytes, const char* wanted) {
  return bytes == std::strlen(wanted) && begins_with(text, bytes, wanted);
}

} // namespace

void note(const char* text, std::size_t bytes) {
  if (is_text(text, bytes, "kind=worker")) becomes_worker();
  // A process of torch.multiprocessing.spawn has no rank in its environment.
  if (begins_with(text, bytes, "world-size=") && !is_text(text, bytes, "world-size=1")) is_one_of_ranks();
  if (const Recording here; here) here.mark(format::NoteEvent{mark_text(text, bytes), 0});
}

} // namespace memtrace::record
