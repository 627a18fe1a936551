// Purpose: the keyframes of a large trace, written by the recorder's own code: one trace in a process.
#include "stretches.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "preload/trace/trace_windows.h"

namespace memtrace::tests {
namespace {

constexpr std::uint64_t kMost = std::uint64_t{1} << 40; // no window begins

Stretches::TextOf text_of_id = nullptr;

std::size_t copy(format::TextId id, char* out, std::size_t capacity) {
  const std::string text = text_of_id(id);
  const std::size_t bytes = std::min(capacity, text.size());
  std::memcpy(out, text.data(), bytes);
  return bytes;
}

bool records(std::uint32_t) {
  return true;
}

} // namespace

Stretches::Stretches(const std::string& path, std::uint64_t trace_id, TextOf text_of) {
  text_of_id = text_of;
  record::Path file{};
  file.add(path.c_str());
  if (!record::create_trace_file(file, trace_id, kMost)) throw std::runtime_error(path + ": cannot be written");
  record::start_windows(false, 0, 0, &copy, &records);
}

void Stretches::append(const format::SegmentHeader& header, const std::uint8_t* payload) {
  if (record::append_events(header, payload, false) != record::Appended::yes)
    throw std::runtime_error("the trace could not be written");
}

void Stretches::define(const format::RingRecord& record) {
  record::note_late(record);
}

bool Stretches::end_pass() {
  record::write_late();
  std::stable_sort(pass_.begin(), pass_.end(),
                   [](const auto& a, const auto& b) { return a.second.stamp < b.second.stamp; });
  for (const auto& [thread, record] : pass_) record::folded.apply(thread, record);
  record::folded.passed(true);
  pass_.clear();
  const std::uint32_t before = record::current_stretch();
  record::rotate_if_due();
  return record::current_stretch() != before;
}

std::uint64_t Stretches::bytes() {
  return record::trace_file.bytes;
}

} // namespace memtrace::tests
