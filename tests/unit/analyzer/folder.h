// Room: tests.
// Job: all files of one process in a directory, and the report of them.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

#include "analyzer/findings/all_findings.h"
#include "analyzer/print/json/document.h"
#include "analyzer/print/text/report_text.h"
#include "builder.h"
#include "parsed.h"
#include "preload/format/coarse.h"

namespace memtrace::tests {

inline RingRecord record_of(EventType type, std::uint8_t kind, std::uint16_t flags,
                            const std::vector<std::uint64_t>& words, std::uint64_t stamp = Builder::kStart) {
  RingRecord record{};
  record.type = static_cast<std::uint8_t>(type);
  record.kind = kind;
  record.flags = flags;
  record.stamp = stamp;
  std::copy(words.begin(), words.end(), record.word);
  return record;
}

inline std::string snapshot(const std::vector<RingRecord>& records) {
  return encode(records, 0, Source::snapshot, 0);
}

// STEM.coarse with everything in the half `active`.
inline std::string coarse_file(const format::CoarseHalf& half, const std::vector<format::PhaseRow>& phases,
                               const std::vector<format::SiteRow>& sites, std::uint32_t active = 0,
                               std::uint64_t coarsened = 0, std::uint64_t own = 0) {
  format::CoarseHeader header{};
  std::memcpy(header.magic, format::kCoarseMagic, sizeof header.magic);
  header.version = format::kVersion;
  header.active = active;
  header.trace_id = Builder::kTraceId;
  header.coarsened = coarsened;
  header.own_bytes = own;
  format::CoarseHalf filled = half;
  filled.phase_capacity = static_cast<std::uint32_t>(phases.size());
  filled.site_capacity = static_cast<std::uint32_t>(sites.size());
  std::string content(reinterpret_cast<const char*>(&filled), sizeof filled);
  for (const auto& row : phases) content.append(reinterpret_cast<const char*>(&row), sizeof row);
  for (const auto& row : sites) content.append(reinterpret_cast<const char*>(&row), sizeof row);
  content.resize((content.size() + format::kPage - 1) / format::kPage * format::kPage);
  header.half_bytes = content.size();
  std::string out(reinterpret_cast<const char*>(&header), sizeof header);
  out.resize(format::kPage + 2 * content.size());
  out.replace(format::kPage + active * content.size(), content.size(), content);
  return out;
}

class Folder : public testing::Test {
 protected:
  std::string file(const std::string& suffix) const { return scratch_.file("t" + suffix); }
  void write(const std::string& suffix, const std::string& bytes) { write_file(file(suffix), bytes); }
  std::uint64_t file_bytes() const {
    std::uint64_t sum = 0;
    for (const auto& entry : std::filesystem::directory_iterator(scratch_.path())) sum += entry.file_size();
    return sum;
  }
  report::View& view() {
    auto trace = std::make_unique<trace::Trace>(file(".memtrace"));
    report::Ending end = report::ending(*trace);
    view_ = report::view(std::move(trace), "main", std::move(end), options);
    return *view_;
  }
  report::Json process() {
    report::Document document(options);
    report::View& open = view();
    document.add(open, report::find(open));
    return parsed(std::move(document))["processes"][0];
  }
  std::string text() {
    report::View& open = view();
    return process_text(open, report::find(open), options, look);
  }
  static report::Json row(const report::Json& process, const std::string& phase, std::int64_t step) {
    for (const report::Json& row : process["phases"]) {
      if (row["memory"] == "host" && row["phase"] == phase && row["step"] == step) return row;
    }
    ADD_FAILURE() << "no row " << phase << " of step " << step;
    return report::Json::object();
  }

  report::Options options;
  report::Look look;

 private:
  Scratch scratch_;
  std::unique_ptr<report::View> view_;
};

} // namespace memtrace::tests
