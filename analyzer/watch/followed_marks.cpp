// Purpose: follows the trace of a process that runs: its phase, its step and the figures of its devices, from
// what was appended, and its levels from the header of its rings. Stops nothing and takes no lock.
#include "analyzer/watch/trace_follower.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstring>
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
         EventType::step, EventType::window, EventType::open_phase, EventType::sample_device);

struct NewestWindow {
  std::string path;
  std::uint64_t inode = 0;
};

// memtrace writes one window at a time, and makes a new file for each.
NewestWindow newest_window(const std::string& stem) {
  NewestWindow out;
  timespec newest{};
  for (std::uint32_t i = 0; i < format::kWindowFiles; ++i) {
    const std::string path = stem + ".window-" + std::to_string(i);
    struct stat status {};
    if (::lstat(path.c_str(), &status) != 0) continue;
    const timespec& at = status.st_mtim;
    const bool newer = at.tv_sec != newest.tv_sec ? at.tv_sec > newest.tv_sec : at.tv_nsec > newest.tv_nsec;
    if (!out.path.empty() && !newer) continue;
    out = {path, status.st_ino};
    newest = at;
  }
  return out;
}

} // namespace

TraceFollower::TraceFollower(report::TraceName name)
    : name_(std::move(name)),
      stem_(name_.path.substr(0, name_.path.rfind(".memtrace"))),
      stream_(kWanted),
      window_stream_(kWanted),
      phases_(std::make_unique<replay::Phases>(definitions_, facts_)) {}

bool TraceFollower::open(Followed& followed, const std::string& path, bool is_trace) {
  try {
    auto file = std::make_unique<trace::File>(path, files::Origin::found);
    auto index = is_trace ? std::make_unique<trace::SegmentIndex>(*file)
                          : std::make_unique<trace::SegmentIndex>(*file, trace_.index->trace_id());
    followed.index = std::move(index);
    followed.file = std::move(file);
    followed.read = 0;
    return true;
  } catch (const trace::ReadError&) {
    return false; // nothing whole is in it yet
  }
}

void TraceFollower::read(Followed& followed) {
  SegmentStream& stream = &followed == &window_ ? window_stream_ : stream_;
  const auto& segments = followed.index->segments();
  for (; followed.read < segments.size(); ++followed.read)
    stream.read(*followed.file, segments[followed.read],
                [this](std::uint32_t thread, const format::RingRecord& record) { take(thread, record); });
}

void TraceFollower::find_window() {
  const NewestWindow newest = newest_window(stem_);
  if (newest.path.empty()) return;
  if (window_.file != nullptr && window_.inode == newest.inode) {
    window_.index->extend();
    return;
  }
  if (!open(window_, newest.path, false)) return;
  window_.inode = newest.inode;
  window_stream_ = SegmentStream(kWanted);
}

void TraceFollower::restart() {
  again_ = false;
  phases_ = std::make_unique<replay::Phases>(definitions_, facts_);
  stream_ = SegmentStream(kWanted);
  window_stream_ = SegmentStream(kWanted);
  trace_.read = window_.read = 0;
}

void TraceFollower::update() {
  if (trace_.file == nullptr) {
    if (!open(trace_, name_.path, true)) return;
  } else {
    trace_.index->extend();
  }
  constexpr int kFacts = 3; // each is found once
  for (int i = 0; i <= kFacts; ++i) {
    read(trace_);
    find_window();
    if (window_.file != nullptr) read(window_);
    if (!again_) return;
    restart();
  }
}

void TraceFollower::take(std::uint32_t thread, const format::RingRecord& record) {
  class Unwatched : public replay::PhaseWatcher {};
  Unwatched unwatched;
  const auto found = [this](bool& fact) {
    if (!std::exchange(fact, true)) again_ = true;
  };
  switch (static_cast<EventType>(record.type)) {
    case EventType::text:
      definitions_.add(thread, record);
      break;
    case EventType::job:
      if (const std::uint32_t rank = record.as<format::JobEvent>().rank; rank != trace::kNoRank) rank_ = rank;
      break;
    case EventType::note:
      if (const std::string& note = definitions_.text(record.as<format::NoteEvent>().text);
          note.starts_with("rings="))
        rings_ = note.substr(std::strlen("rings="));
      break;
    case EventType::sample_device: {
      const auto& said = record.as<format::SampleDeviceEvent>();
      const unsigned memory = record.flags >> format::kMemoryShift;
      if (memory != 0 && said.used != format::kNotSaid && said.total != format::kNotSaid && said.total != 0)
        devices_[memory - 1] = {said.used, said.total};
      break;
    }
    case EventType::phase_begin:
      if ((record.flags & format::kInstant) != 0) break;
      if ((record.flags & format::kAuto) != 0) found(facts_.auto_phases);
      if (definitions_.text(record.as<format::PhaseBeginEvent>().name) == "step") found(facts_.step_phases);
      phases_->apply(trace::event_of(thread, record), unwatched);
      break;
    case EventType::step:
      found(facts_.step_records);
      phases_->apply(trace::event_of(thread, record), unwatched);
      break;
    case EventType::phase_end:
    case EventType::window:
    case EventType::open_phase:
      phases_->apply(trace::event_of(thread, record), unwatched);
      break;
    default:
      break;
  }
}

std::string TraceFollower::phase() const {
  constexpr std::uint32_t kNoThread = ~std::uint32_t{0}; // the process's phase is that of such a thread
  const replay::PathId path = phases_->place(kNoThread).path;
  if (path == replay::PathId::other) return "";
  return phases_->paths().text(phases_->paths().last(path));
}

std::optional<format::RingFileHeader> TraceFollower::header() const {
  if (trace_.index == nullptr) return std::nullopt;
  for (const std::string& path : {stem_ + ".rings", rings_}) {
    if (path.empty()) continue;
    try {
      const trace::File file(path, files::Origin::found);
      format::RingFileHeader header{};
      if (file.read(0, &header, sizeof header) != sizeof header) continue;
      if (std::memcmp(header.magic, format::kRingMagic, sizeof header.magic) != 0) continue;
      if (header.trace_id != trace_.index->trace_id() || !format::is_known(header.version)) continue;
      return header;
    } catch (const trace::ReadError&) {
      continue;
    }
  }
  return std::nullopt;
}

} // namespace memtrace::watch
