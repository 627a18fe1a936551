// Purpose: writes a ledger as a table of text.
#include "analyzer/print/text/ledger_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "analyzer/replay/wrapping_sum.h"
#include "analyzer/wording/text_table.h"
#include "analyzer/wording/units.h"
#include "analyzer/wording/utf8.h"

namespace memtrace::report {
namespace {

constexpr std::uint64_t kTooLittle = 1000; // rows below 1/1000 of the total are summed up in one line
constexpr std::uint64_t kOfSummary = 100;  // in a summary, rows below 1/100

std::string title(const RssLedger& ledger) {
  const std::string when = fmt::format("at {:.1f} s", ledger.t);
  if (ledger.at == "peak_rss") return fmt::format("Resident memory at its highest, {}", when);
  return fmt::format("Resident memory {}, {}", ledger.at == "death" ? "before its death" : "at its end", when);
}

// Returns the bytes given, or "" if at most 2 % of them are not resident.
std::string not_resident(const RssRow& row, const Unit& unit) {
  if (!row.given || *row.given <= row.bytes + row.bytes / 50) return "";
  return fmt::format("of {} given", in_unit(static_cast<std::int64_t>(*row.given), unit));
}

// Returns who says how many bytes were resident at most.
const char* source_of(const RssLedger& ledger, std::uint64_t highest) {
  return highest <= ledger.high_water ? "VmHWM, the kernel's record of the highest" : "the highest sample";
}

std::string limit_name(const Headroom& headroom) {
  if (headroom.of == "address_space") return "Limit of address space (RLIMIT_AS)";
  if (headroom.of == "data") return "Limit of data (RLIMIT_DATA)";
  if (headroom.of == "node") return "Memory of node " + headroom.name;
  if (headroom.of == "device") return "Memory of " + headroom.name;
  return (headroom.soft ? "Limit (memory.high) of cgroup " : "Limit of cgroup ") + headroom.name;
}

double percent(std::int64_t part, std::uint64_t of) {
  const double out = of == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(of);
  return std::abs(out) < 0.05 ? 0 : out; // not "-0.0"
}

} // namespace

void write_ledger(const RssLedger& ledger, std::uint64_t highest, Lines& lines) {
  const Unit unit = unit_for(static_cast<std::int64_t>(ledger.total));
  lines.plain("");
  lines.paragraph("", title(ledger));
  const auto figure = [&unit](std::uint64_t bytes) { return in_unit(static_cast<std::int64_t>(bytes), unit); };
  Table table(2, {Column::text("", 26), Column::number(unit.name, 9), Column::rest("")});
  std::uint64_t little = 0;
  for (const RssRow& row : ledger.rows) {
    if (row.bytes >= ledger.total / kTooLittle)
      table.row(
          {printable(row.name), figure(row.bytes), (row.sampled ? "sampled " : "") + not_resident(row, unit)});
    else
      little += row.bytes;
  }
  if (little != 0) table.row({"the rest", figure(little)});
  table.row({"residual: not explained", in_unit(ledger.residual, unit),
             fmt::format("{:.1f} %", percent(ledger.residual, ledger.total))});
  table.row(
      {"= VmRSS", figure(ledger.total),
       highest == ledger.total
           ? fmt::format("the highest; VmHWM, the kernel's record of it, is {}", figure(ledger.high_water))
           : fmt::format("at most {} ({})", figure(highest), source_of(ledger, highest))});
  table.write(lines);
  for (const std::string& remark : ledger.remarks) lines.paragraph("  ", remark);
}

void write_ledger_summary(const RssLedger& ledger, std::uint64_t highest, Lines& lines) {
  const Unit unit = unit_for(static_cast<std::int64_t>(ledger.total));
  std::string text =
      fmt::format("Resident {} {} at most", in_unit(static_cast<std::int64_t>(highest), unit), unit.name);
  if (highest == ledger.total)
    text += fmt::format(", at {:.1f} s: ", ledger.t);
  else // a peak may be too short for a ledger: 15 of 207 MiB
    text += fmt::format(" ({}). At {:.1f} s, {} were resident: ", source_of(ledger, highest), ledger.t,
                        in_unit(static_cast<std::int64_t>(ledger.total), unit));
  std::int64_t rest = ledger.residual;
  for (const RssRow& row : ledger.rows) {
    const auto bytes = static_cast<std::int64_t>(row.bytes);
    if (row.bytes >= ledger.total / kOfSummary)
      text += fmt::format("{} {}, ", row.name, in_unit(bytes, unit));
    else
      rest = replay::wrapping_add(rest, bytes);
  }
  lines.plain("");
  lines.paragraph("", printable(text + fmt::format("the rest {} (not explained: {} of it, {:.1f} %)",
                                                   in_unit(rest, unit), in_unit(ledger.residual, unit),
                                                   percent(ledger.residual, ledger.total))));
  for (const std::string& remark : ledger.remarks) lines.paragraph("", remark);
}

void write_ledger_line(const RssLedger& ledger, Lines& lines) {
  const Unit unit = unit_for(static_cast<std::int64_t>(ledger.total));
  const auto figure = [&unit](std::uint64_t bytes) { return in_unit(static_cast<std::int64_t>(bytes), unit); };
  std::string rows;
  std::uint64_t smaller = 0;
  for (const RssRow& row : ledger.rows) {
    if (row.bytes >= ledger.total / kTooLittle)
      rows += fmt::format("{}{} {}", rows.empty() ? "" : " + ", row.name, figure(row.bytes));
    else
      smaller += row.bytes;
  }
  if (figure(smaller) != figure(0)) rows += " + smaller rows " + figure(smaller);
  std::string text =
      fmt::format("{} {} at {:.1f} s, its highest sample: {} {} used = {}, residual {}", ledger.scope,
                  ledger.of, ledger.t, figure(ledger.total), unit.name, rows, in_unit(ledger.residual, unit));
  if (ledger.swap.value_or(0) != 0) text += fmt::format("; {} more in swap", figure(*ledger.swap));
  for (const trace::NumaNode& one : ledger.nodes)
    text +=
        fmt::format("{} {} on node {}", &one == &ledger.nodes.front() ? "; of the process's own cgroup" : ",",
                    figure(one.anon + one.file), one.node);
  if (ledger.high_water > ledger.total)
    text += fmt::format("; between samples, or before this program, the kernel counted {}",
                        figure(ledger.high_water));
  lines.paragraph("", printable(text));
}

void write_headroom(const Headroom& headroom, Lines& lines) {
  const Unit unit = unit_for(static_cast<std::int64_t>(headroom.limit));
  const auto figure = [&unit](std::uint64_t bytes) { return in_unit(static_cast<std::int64_t>(bytes), unit); };
  std::string text = limit_name(headroom) + fmt::format(" {} {}: ", figure(headroom.limit), unit.name);
  const bool apart = headroom.of == "cgroup" || headroom.of == "node" || headroom.of == "device";
  if (headroom.needed && apart)
    text += fmt::format(
        "needed at most {} (without {}), ", figure(*headroom.needed),
        headroom.of == "device" ? "the cache of PyTorch's allocator" : "page cache that the kernel can drop");
  text += fmt::format("used at most {}, never used {}", figure(headroom.used), figure(headroom.never_used()));
  lines.paragraph("", printable(text));
}

void write_job_ledger(const JobLedger& ledger, Lines& lines) {
  constexpr std::size_t kShown = 20;
  const Unit unit = unit_for(static_cast<std::int64_t>(ledger.total.value_or(ledger.lines.front().bytes)));
  const std::string title = ledger.of.empty() ? "anonymous pages of the job then"
                                              : "charged to cgroup " + printable(ledger.of) + " then";
  lines.faint(fmt::format("{}, {}", shortened(title, lines.columns() - 6), unit.name));
  std::size_t hidden = 0;
  std::uint64_t more = 0;
  Table table(2, {Column::text("", 10), Column::number("", 9), Column::rest("")});
  for (std::size_t i = 0; i < ledger.lines.size(); ++i) {
    const JobLedger::NamedBytes& line = ledger.lines[i];
    if (i < kShown || (ledger.total && i + 3 >= ledger.lines.size())) {
      table.row({line.name, in_unit(static_cast<std::int64_t>(line.bytes), unit), line.note});
    } else {
      ++hidden;
      more += line.bytes;
    }
  }
  if (hidden != 0) table.row({fmt::format("{} more", hidden), in_unit(static_cast<std::int64_t>(more), unit)});
  if (ledger.total)
    table.row({"= charge", in_unit(static_cast<std::int64_t>(*ledger.total), unit),
               fmt::format("residual {}{}", in_unit(ledger.residual, unit),
                           ledger.residual < 0 ? ": each fork counts the pages that it shares" : "")});
  table.write(lines);
}

std::string family_line(const Family& family, const Screen& screen) {
  Lines lines(screen);
  lines.paragraph(
      "", fmt::format("Processes together {} at most, at {:.1f} s: PSS, where each shared page counts once; "
                      "the sum of RSS is {}{}",
                      sized(family.ledger.total), family.ledger.t, sized(family.resident),
                      family.ledger.remarks.empty() ? "" : "; " + family.ledger.remarks.front()));
  return "\n" + lines.take();
}

std::string family_text(const Family& family, const Screen& screen) {
  const Unit unit = unit_for(static_cast<std::int64_t>(family.resident));
  const auto figure = [&](std::uint64_t bytes) { return in_unit(static_cast<std::int64_t>(bytes), unit); };
  Lines lines(screen);
  lines.plain("");
  lines.plain(
      fmt::format("Processes together at their most, {:.1f} s: pages that several have count once in PSS",
                  family.ledger.t));
  Table table(2, {Column::text(unit.name, 34), Column::number("PSS", 9), Column::extra("RSS", 9),
                  Column::number("written", 9)});
  constexpr std::size_t kShown = 12;
  for (std::size_t i = 0; i < std::min(kShown, family.members.size()); ++i) {
    const Family::Member& one = family.members[i];
    table.row({one.name, figure(one.share.pss), figure(one.share.resident), figure(one.share.private_dirty)});
  }
  if (family.members.size() > kShown)
    table.remark(fmt::format("  {} more, see --format json", family.members.size() - kShown));
  table.row({fmt::format("= {} processes", family.members.size()), figure(family.ledger.total),
             figure(family.resident)});
  table.write(lines);
  std::string rows;
  for (const RssRow& row : family.ledger.rows)
    if (row.bytes != 0) rows += (rows.empty() ? "" : " + ") + row.name + " " + figure(row.bytes);
  lines.paragraph("  ", rows);
  for (const std::string& remark : family.ledger.remarks) lines.paragraph("  ", remark);
  return lines.take();
}

} // namespace memtrace::report
