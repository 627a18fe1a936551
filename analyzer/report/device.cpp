// Room: report.
// Job: what an allocator holds on a card beside its blocks, and what the card shows beside all that: for people
// and as JSON.
#include "analyzer/report/device.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "analyzer/report/text.h"
#include "analyzer/report/units.h"
#include "analyzer/report/utf8.h"
#include "analyzer/report/words.h"

namespace memtrace::report {
namespace {

constexpr std::size_t kShown = 5; // lines of segments that are alike

// "424.00 MiB of 1024.00 MiB unused, 1 block: train.py:7, load"
std::string line_of(View& view, const fold::Segment& segment) {
  const std::string text =
      fmt::format("{:>11} of {:>11} unused, ", sized(segment.unused()), sized(segment.bytes));
  if (segment.blocks == 0) return text + "empty";
  const std::string site =
      segment.holder == format::StackId{} ? "-" : printable(view.symbolizer->site(segment.holder).title());
  const std::string blocks =
      fmt::format("{} {}: ", count(segment.blocks), segment.blocks == 1 ? "block" : "blocks");
  const std::string since =
      ", " + when(printable(view.account.paths.text(segment.holder_phase)), segment.holder_step);
  constexpr std::size_t kIndent = 8, kLeast = 12; // of a site
  const std::size_t taken = kIndent + columns(text + blocks + since);
  return text + blocks + shortened(site, taken + kLeast > kColumns ? kLeast : kColumns - taken) + since;
}

// Of the expandable segments: what the allocator says that it holds, less what lies in others.
std::uint64_t mapped(const View& view, fold::MemoryId memory, const fold::Segments& segments) {
  const auto held = static_cast<std::uint64_t>(view.account.peaks.at(memory).reserved->bytes);
  return held > segments.bytes ? held - segments.bytes : 0;
}

} // namespace

Unused unused_of(const fold::Segments& segments) {
  Unused out;
  for (const fold::Segment& segment : segments.each) {
    if (segment.blocks == 0) {
      out.empty += segment.bytes;
      ++out.empties;
    } else if (segment.unused() != 0) {
      out.kept += segment.unused();
      ++out.keeping;
    }
  }
  return out;
}

std::string divided(const fold::CardUse& card) {
  const fold::Residual& residual = card.residual;
  return fmt::format("context {}, code {}, local memory and the rest {}: an estimate", size(residual.context),
                     size(residual.code), size(residual.rest));
}

std::string in_words(const Unused& unused) {
  const auto some = [](std::uint64_t bytes, std::size_t number, const char* of) {
    return fmt::format("{} in {} {}{}", sized(bytes), count(number), of, number == 1 ? "" : "s");
  };
  std::string text;
  if (unused.keeping != 0) text = some(unused.kept, unused.keeping, "segment") + " beside blocks";
  if (unused.empties != 0)
    text += (text.empty() ? "" : ", ") + some(unused.empty, unused.empties, "empty segment");
  return text;
}

void write_segments(View& view, Lines& lines) {
  for (const auto& [memory, segments] : view.segments) {
    const fold::Peak& peak = *view.account.peaks.at(memory).reserved;
    const Unused unused = unused_of(segments);
    std::string text = fmt::format("{}: its allocator held {} at most, in {}", memory_name(memory),
                                   size(peak.bytes), when(phase_name(view, peak.path), peak.step));
    if (!segments.each.empty()) text += fmt::format(": {} in blocks", sized(segments.in_blocks));
    if (unused.sum() != 0) text += fmt::format(", unused {}", in_words(unused));
    if (segments.outside != 0)
      text += fmt::format("; {} in pages mapped one by one, for blocks of {}",
                          sized(mapped(view, memory, segments)), sized(segments.outside));
    lines.paragraph("", text);
    std::vector<std::pair<std::string, std::size_t>> alike;
    for (const fold::Segment& segment : segments.each) {
      if (segment.unused() < static_cast<std::uint64_t>(peak.bytes) / 100) break;
      const std::string line = line_of(view, segment);
      if (!alike.empty() && alike.back().first == line) {
        ++alike.back().second;
      } else if (alike.size() == kShown) {
        break;
      } else {
        alike.emplace_back(line, 1);
      }
    }
    for (const auto& [line, number] : alike) lines.plain(fmt::format("  {:>3} x {}", number, line));
  }
}

Json segments_json(View& view, const fold::Segments& segments, std::size_t top) {
  const Unused unused = unused_of(segments);
  Json each = Json::array();
  for (std::size_t i = 0; i < std::min(top, segments.each.size()); ++i) {
    const fold::Segment& segment = segments.each[i];
    const bool held = segment.blocks != 0;
    each.push_back(
        {{"bytes", segment.bytes},
         {"in_blocks", segment.in_blocks},
         {"blocks", segment.blocks},
         {"site", held ? site_json(view, segment.holder) : Json(nullptr)},
         {"born_phase", held ? Json(valid_utf8(view.account.paths.text(segment.holder_phase))) : Json(nullptr)},
         {"born_step", held && segment.holder_step != fold::Step::none
                           ? Json(static_cast<std::int64_t>(segment.holder_step))
                           : Json(nullptr)}});
  }
  return {{"count", segments.each.size()},       {"bytes", segments.bytes},
          {"in_blocks", segments.in_blocks},     {"unused", unused.sum()},
          {"unused_beside_blocks", unused.kept}, {"empty", unused.empties},
          {"in_mapped_pages", segments.outside}, {"most_unused", std::move(each)}};
}

Json residual_json(const fold::CardUse& card) {
  return {{"context", card.residual.context},
          {"code", card.residual.code},
          {"rest", card.residual.rest},
          {"how", "estimate"}};
}

} // namespace memtrace::report
