// Purpose: the records that are not events: who it was, how it ended, what machine it saw.
#include "analyzer/trace/process_facts.h"

#include <algorithm>
#include <cstring>

namespace memtrace::trace {
namespace {

using format::EventType;
using format::high;
using format::low;
using format::TextId;

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
  Said& said = said_[record.type];
  if (said.is && record.stamp < said.record.stamp) return;
  said = {true, record, thread};
}

void Survey::seen(std::uint32_t thread, format::Stamp last) {
  format::Stamp& known = last_[thread];
  known = std::max(known, last);
}

// The first one says who counts it, a later one who it is.
void Survey::add_device(const format::RingRecord& record) {
  format::RingRecord& known = devices_[record.flags >> format::kMemoryShift];
  for (std::size_t i = 0; i < format::kWords; ++i)
    if (record.word[i] != 0) known.word[i] = record.word[i];
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
      dtypes_[low(record.word[0])] = record.word[1];
      break;
    case EventType::device:
      add_device(record);
      break;
    case EventType::note:
      notes_[low(record.word[0])] = ++noted_;
      break;
    case EventType::phase_begin:
      phase_names_.insert(low(record.word[0]));
      auto_phases_ = auto_phases_ || (record.flags & format::kAuto) != 0;
      break;
    case EventType::open_phase:
      phase_names_.insert(format::high(record.word[0]));
      auto_phases_ = auto_phases_ || (record.flags & format::kAuto) != 0;
      break;
    case EventType::coarse:
      coarsened_ += record.word[2];
      break;
    default:
      break;
  }
}

void Survey::process(Facts& facts, const Definitions& definitions) const {
  const Said& said = said_[static_cast<std::size_t>(EventType::process)];
  if (!said.is) return;
  const auto& word = said.record.word;
  facts.has_process = true;
  facts.pid = low(word[0]);
  facts.ppid = high(word[0]);
  facts.start_unix_ns = word[1];
  facts.start_stamp = said.record.stamp;
  facts.exe = definitions.text(TextId{low(word[2])});
  facts.argv = definitions.whole_text(TextId{high(word[2])});
  facts.host = definitions.text(TextId{low(word[3])});
  facts.working_directory = definitions.text(TextId{high(word[3])});
  facts.exact_min = word[4];
  facts.sample_bytes = low(word[5]);
  if (high(word[5]) != 0) facts.page_bytes = high(word[5]);
}

void Survey::job(Facts& facts, const Definitions& definitions) const {
  const Said& said = said_[static_cast<std::size_t>(EventType::job)];
  if (!said.is) return;
  const auto& word = said.record.word;
  facts.job = definitions.text(TextId{low(word[0])});
  facts.attempt = high(word[0]);
  facts.rank = low(word[1]);
  facts.local_rank = high(word[1]);
  facts.world_size = low(word[2]);
  facts.launcher = definitions.text(TextId{high(word[2])});
}

// A call of abort() is no end if the program's handler jumped out of it, nor is an exec that failed: their
// thread went on.
void Survey::ended(Facts& facts) const {
  const Said& end = said_[static_cast<std::size_t>(EventType::end)];
  if (!end.is) return;
  const bool known = end.record.kind < format::kEndHows;
  const auto how = known ? static_cast<format::EndHow>(end.record.kind) : format::EndHow::unknown;
  const auto last = last_.find(end.thread);
  const bool went_on = last != last_.end() && last->second > end.record.stamp;
  facts.survived_abort = went_on && how == format::EndHow::signal;
  if (!went_on || (how != format::EndHow::signal && how != format::EndHow::exec))
    facts.end = Ended{how, low(end.record.word[0])};
}

Facts Survey::finish(const Definitions& definitions, format::Stamp last_stamp) && {
  const auto said = [this](EventType type) -> const Said& { return said_[static_cast<std::size_t>(type)]; };
  Facts facts;
  facts.last_stamp = last_stamp;
  process(facts, definitions);
  job(facts, definitions);
  if (const Said& fork = said(EventType::fork); fork.is) {
    facts.fork =
        ForkedFrom{low(fork.record.word[0]), fork.record.word[1], fork.record.word[3], fork.record.word[4]};
  }
  ended(facts);
  if (const Said& exec = said(EventType::exec); exec.is) {
    facts.last_was_exec = exec.record.stamp >= last_stamp;
    facts.exec_path = definitions.text(TextId{low(exec.record.word[0])});
  }
  if (const Said& all = said(EventType::parameters); all.is) {
    const auto& word = all.record.word;
    facts.parameters = Parameters{word[0], word[1], word[2], word[3]};
  }
  for (const auto& [name, count] : dtypes_) facts.parameters_by_dtype[definitions.text(TextId{name})] = count;
  for (const auto& [memory, record] : devices_) {
    Device& device = facts.devices[memory];
    device.name = definitions.text(TextId{low(record.word[0])});
    std::memcpy(device.uuid, &record.word[1], sizeof device.uuid);
    device.total = record.word[3];
    device.source = definitions.text(TextId{low(record.word[4])});
  }
  std::vector<std::pair<std::uint64_t, std::uint32_t>> notes; // in order
  for (const auto& [text, number] : notes_) notes.emplace_back(number, text);
  std::sort(notes.begin(), notes.end());
  for (const auto& [number, text] : notes) facts.notes.push_back(definitions.text(TextId{text}));
  for (const std::uint32_t name : phase_names_) {
    const std::string& text = definitions.text(TextId{name});
    facts.step_phases = facts.step_phases || text == "step";
    facts.data_phases = facts.data_phases || text == "data";
  }
  facts.auto_phases = auto_phases_;
  facts.step_records = said(EventType::step).is;
  facts.coarsened = coarsened_;
  return facts;
}

} // namespace memtrace::trace
