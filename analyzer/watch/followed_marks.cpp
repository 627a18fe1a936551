// Purpose: follows the trace of a process that runs: its phase, its step and the figures of its devices, from
// what was appended, and its levels from the header of its rings. Stops nothing and takes no lock.
#include "analyzer/watch/followed_marks.h"

#include <utility>

#include "analyzer/decode/read_error.h"
#include "analyzer/trace/event_merger.h"
#include "preload/format/process_events.h"
#include "preload/format/sample_events.h"

namespace memtrace::watch {
namespace {

using format::EventType;

template <class... Types>
constexpr std::uint64_t bits(Types... types) {
  return ((std::uint64_t{1} << static_cast<unsigned>(types)) | ...);
}

constexpr std::uint64_t kWanted =
    bits(EventType::text, EventType::job, EventType::note, EventType::phase_begin, EventType::phase_end,
         EventType::step, EventType::reset, EventType::window, EventType::open_phase, EventType::sample_device);

} // namespace

FollowedMarks::FollowedMarks(report::TraceName name) : name_(std::move(name)) {
  begin_again();
}

void FollowedMarks::begin_again() {
  for (trace::SegmentStream& stream : streams_) stream = trace::SegmentStream(kWanted);
  phases_ = std::make_unique<replay::Phases>(definitions_, facts_);
}

// Returns false if nothing whole of the trace is there yet.
bool FollowedMarks::open() try {
  if (files_ == nullptr) files_ = std::make_unique<trace::GrowingFiles>(name_.path, files::Origin::found);
  return true;
} catch (const trace::ReadError&) {
  return false;
}

void FollowedMarks::read_on() {
  const auto add = [this](std::uint32_t thread, const format::RingRecord& record) { take(thread, record); };
  files_->read_on([&](const trace::File& file, const trace::Segment& segment, std::uint32_t window) {
    trace::SegmentStream& stream = streams_[window == 0 ? 0 : 1];
    if (window != 0 && std::exchange(window_, window) != window) stream = trace::SegmentStream(kWanted);
    stream.read(file, segment, add);
  });
}

// If a fact that decides how steps are counted became known, the steps are counted from the beginning.
void FollowedMarks::update() {
  if (!open()) return;
  read_on();
  const auto rules = facts_.step_rules();
  facts_ = trace::Survey(survey_).finish(definitions_, 0);
  if (const auto elsewhere = facts_.note("rings")) files_->rings_are_at(*elsewhere);
  if (facts_.step_rules() == rules) return;
  begin_again();
  files_->begin_again();
  read_on();
}

void FollowedMarks::take(std::uint32_t thread, const format::RingRecord& record) {
  class Unwatched : public replay::PhaseWatcher {};
  Unwatched unwatched;
  const auto type = static_cast<EventType>(record.type);
  switch (type) {
    case EventType::text:
      definitions_.add(thread, record);
      return;
    case EventType::sample_device:
      add_device(record);
      return;
    case EventType::job:
    case EventType::note:
    case EventType::phase_begin:
    case EventType::step:
    case EventType::open_phase:
      survey_.add(thread, record);
      break;
    case EventType::phase_end:
    case EventType::reset:
    case EventType::window:
      break;
    default:
      return;
  }
  phases_->apply(trace::event_of(thread, record), unwatched);
}

void FollowedMarks::add_device(const format::RingRecord& record) {
  const auto& said = record.as<format::SampleDeviceEvent>();
  const unsigned memory = record.flags >> format::kMemoryShift;
  if (memory != 0 && said.used != format::kNotSaid && said.total != format::kNotSaid && said.total != 0)
    devices_[memory - 1] = {said.used, said.total};
}

std::string FollowedMarks::phase() const {
  constexpr std::uint32_t kNoThread = ~std::uint32_t{0}; // the process's phase is that of such a thread
  const replay::PathId path = phases_->place(kNoThread).path;
  if (path == replay::PathId::other) return "";
  return phases_->paths().text(phases_->paths().last(path));
}

} // namespace memtrace::watch
