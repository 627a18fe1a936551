// Purpose: writes trace files, and reads all their events and losses.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/decode/read_error.h"
#include "analyzer/trace/trace.h"
#include "builder.h"

namespace memtrace::trace {

struct Read {
  std::vector<Event> events;
  Losses losses;
  OrderCounts counts;
};

inline Read read(const std::string& path) {
  const Trace trace(path);
  Read out;
  out.counts = trace.each([&](const Event& event) { out.events.push_back(event); });
  out.losses = trace.losses(out.counts);
  return out;
}

inline std::vector<std::uint64_t> addresses(const std::vector<Event>& events) {
  std::vector<std::uint64_t> out;
  for (const Event& event : events) {
    if (event.type == format::EventType::birth) out.push_back(event.as<format::BirthEvent>().address);
  }
  return out;
}

inline std::vector<std::uint64_t> count_up(std::uint64_t from, std::uint64_t to) {
  std::vector<std::uint64_t> out;
  for (std::uint64_t i = from; i < to; ++i) out.push_back(i);
  return out;
}

inline tests::Builder births(std::uint64_t count) {
  tests::Builder builder;
  for (std::uint64_t i = 0; i < count; ++i) builder.birth(i, 8192);
  return builder;
}

class Files : public testing::Test {
 protected:
  std::string write(const std::string& bytes) {
    tests::write_file(path(), bytes);
    return path();
  }
  std::string path() const { return scratch_.file("t.memtrace"); }
  std::string rings() const { return scratch_.file("t.rings"); }
  std::string fault(const std::string& bytes) {
    try {
      const Trace trace(write(bytes));
      return "no fault";
    } catch (const ReadError& fault) {
      return fault.what();
    }
  }
  tests::Scratch scratch_;
};

} // namespace memtrace::trace
