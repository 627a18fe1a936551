// Purpose: facts of the process from records that are not events: its identity, its end, its machine.
#include "analyzer/trace/process_facts.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <sstream>
#include <string_view>

#include "preload/format/event_fields.h"

namespace memtrace::trace {
namespace {

using format::EventType;
using format::TextId;

// Returns the value of a note if it is a number.
std::optional<std::uint32_t> number_of(const Facts& facts, const std::string& key) {
  const std::string text = facts.note(key).value_or("");
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Takes the rank from init_process_group, if there is one in a group of several. The environment may have none,
// or that of the node: a launcher of nodes may start a process that spawns the ranks.
void take_noted_rank(Facts& facts) {
  const auto rank = number_of(facts, "rank");
  const auto world = number_of(facts, "world-size");
  if (!rank || !world || *rank >= *world || *world == 1) return;
  facts.rank = *rank;
  facts.world_size = *world;
}

// Takes the notes "before.small=BYTES" and "before.device=N LIVE TENSOR RESERVED", in bytes.
void take_held_before(Facts& facts) {
  constexpr std::string_view kSmall = "before.small=", kDevice = "before.device=";
  if (!facts.before) return;
  for (const std::string& text : facts.notes) {
    std::uint32_t device = 0;
    std::uint64_t bytes = 0;
    HeldBefore::Device held;
    if (text.starts_with(kSmall) && std::istringstream(text.substr(kSmall.size())) >> bytes)
      facts.before->small = bytes;
    if (!text.starts_with(kDevice)) continue;
    std::istringstream figures(text.substr(kDevice.size()));
    if (!(figures >> device >> held.live) || device >= 16) continue;
    figures >> held.tensor >> held.reserved; // 0 if the note is of a version that did not know them
    facts.before->devices[device + 1] = held;
  }
}

} // namespace

std::optional<std::string> Facts::note(const std::string& key) const {
  std::optional<std::string> value;
  for (const std::string& text : notes) {
    if (text.size() > key.size() && text[key.size()] == '=' && text.compare(0, key.size(), key) == 0) {
      value = text.substr(key.size() + 1);
    }
  }
  return value;
}

void Survey::keep(std::uint32_t thread, const format::RingRecord& record) {
  LatestRecord& said = said_[record.type];
  if (said.is && record.stamp < said.record.stamp) return;
  said = {true, record, thread};
}

void Survey::seen(std::uint32_t thread, format::Stamp last) {
  format::Stamp& known = last_[thread];
  known = std::max(known, last);
}

// Merges the records of a device. The first names the recorder of its memory, a later one adds its name.
void Survey::add_device(const format::RingRecord& record) {
  devices_[record.flags >> format::kMemoryShift].take_known(record.payload);
}

void Survey::add_dtype(const format::RingRecord& record) {
  const auto parameters = record.as<format::ParameterDtypeEvent>();
  dtypes_[parameters.dtype] = parameters.count;
}

void Survey::add(std::uint32_t thread, const format::RingRecord& record) {
  switch (static_cast<EventType>(record.type)) {
    case EventType::process:
    case EventType::job:
    case EventType::fork:
    case EventType::exec:
    case EventType::end:
    case EventType::parameters:
    case EventType::step:
      keep(thread, record);
      break;
    case EventType::parameter_dtype:
      add_dtype(record);
      break;
    case EventType::device:
      add_device(record);
      break;
    case EventType::note:
      notes_[record.as<format::NoteEvent>().text] = ++noted_;
      break;
    case EventType::phase_begin:
      if ((record.flags & format::kInstant) != 0) break;
      phase_names_.insert(record.as<format::PhaseBeginEvent>().name);
      auto_phases_ = auto_phases_ || (record.flags & format::kAuto) != 0;
      break;
    case EventType::open_phase:
      phase_names_.insert(record.as<format::OpenPhaseEvent>().name);
      auto_phases_ = auto_phases_ || (record.flags & format::kAuto) != 0;
      break;
    case EventType::coarse:
      coarsened_ += record.as<format::CoarseEvent>().count;
      break;
    default:
      break;
  }
}

void Survey::process(Facts& facts, const Definitions& definitions) const {
  const LatestRecord& said = said_[static_cast<std::size_t>(EventType::process)];
  if (!said.is) return;
  const auto process = said.record.as<format::ProcessEvent>();
  facts.has_process = true;
  facts.pid = process.pid;
  facts.ppid = process.parent_pid;
  facts.start_unix_ns = process.unix_ns;
  facts.start_stamp = said.record.stamp;
  facts.exe = definitions.text(process.executable);
  facts.argv = definitions.whole_text(process.arguments);
  facts.host = definitions.text(process.host);
  facts.working_directory = definitions.text(process.directory);
  facts.exact_min = process.exact_min;
  facts.sample_bytes = process.sample_bytes;
  if (process.page_bytes != 0) facts.page_bytes = process.page_bytes;
}

void Survey::job(Facts& facts, const Definitions& definitions) const {
  const LatestRecord& said = said_[static_cast<std::size_t>(EventType::job)];
  if (!said.is) return;
  const auto job = said.record.as<format::JobEvent>();
  facts.job = definitions.text(job.job);
  facts.attempt = job.attempt;
  facts.rank = job.rank;
  facts.local_rank = job.local_rank;
  facts.world_size = job.world_size;
  facts.launcher = definitions.text(job.launcher);
}

// A call of abort() is not an end if the program's handler jumped out of it. An exec that failed is not an end,
// either. In both cases the thread has later records.
void Survey::ended(Facts& facts) const {
  const LatestRecord& end = said_[static_cast<std::size_t>(EventType::end)];
  if (!end.is) return;
  const bool known = end.record.kind < format::kEndHows;
  const auto how = known ? static_cast<format::EndHow>(end.record.kind) : format::EndHow::unknown;
  const auto last = last_.find(end.thread);
  const bool went_on = last != last_.end() && last->second > end.record.stamp;
  facts.survived_abort = went_on && how == format::EndHow::signal;
  if (!went_on || (how != format::EndHow::signal && how != format::EndHow::exec))
    facts.end = Ended{how, end.record.as<format::EndEvent>().code};
}

Facts Survey::finish(const Definitions& definitions, format::Stamp last_stamp) && {
  const auto said = [this](EventType type) -> const LatestRecord& {
    return said_[static_cast<std::size_t>(type)];
  };
  Facts facts;
  facts.last_stamp = last_stamp;
  process(facts, definitions);
  job(facts, definitions);
  if (const LatestRecord& fork = said(EventType::fork); fork.is) {
    const auto from = fork.record.as<format::ForkEvent>();
    // An armed process names itself: it has what it held before from no parent.
    if (from.parent_pid == facts.pid) {
      facts.before = HeldBefore{from.parent_stamp, from.live, 0, from.tensor, {}};
    } else {
      facts.fork = ForkedFrom{from.parent_pid, from.live, from.tensor};
    }
  }
  ended(facts);
  if (const LatestRecord& exec = said(EventType::exec); exec.is)
    facts.last_was_exec = exec.record.stamp >= last_stamp;
  if (const LatestRecord& all = said(EventType::parameters); all.is) {
    const auto model = all.record.as<format::ParametersEvent>();
    facts.parameters = Parameters{model.count, model.trainable, model.bytes, model.tensors};
  }
  for (const auto& [name, count] : dtypes_) facts.parameters_by_dtype[definitions.text(name)] = count;
  for (const auto& [memory, payload] : devices_) {
    const auto known = payload.as<format::DeviceEvent>();
    Device& device = facts.devices[memory];
    static_assert(sizeof device.uuid == sizeof known.uuid);
    device.name = definitions.text(known.name);
    std::memcpy(device.uuid, known.uuid, sizeof device.uuid);
    device.total = known.total;
    device.source = definitions.text(known.source);
  }
  std::vector<std::pair<std::uint64_t, TextId>> notes; // ordered by number
  for (const auto& [text, number] : notes_) notes.emplace_back(number, text);
  std::sort(notes.begin(), notes.end());
  for (const auto& [number, text] : notes) facts.notes.push_back(definitions.text(text));
  take_noted_rank(facts);
  take_held_before(facts);
  for (const TextId name : phase_names_) {
    const std::string& text = definitions.text(name);
    facts.step_phases = facts.step_phases || text == "step";
    facts.data_phases = facts.data_phases || text == "data";
  }
  facts.auto_phases = auto_phases_;
  facts.step_records = said(EventType::step).is;
  facts.coarsened = coarsened_;
  return facts;
}

} // namespace memtrace::trace
