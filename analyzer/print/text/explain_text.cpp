// Purpose: writes bytes per parameter as text.
#include "analyzer/print/text/explain_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "analyzer/explain/holder_rows.h"
#include "analyzer/explain/update_instant.h"
#include "analyzer/print/text/held_table.h"
#include "analyzer/wording/labels.h"
#include "analyzer/wording/text_table.h"
#include "analyzer/wording/units.h"
#include "analyzer/wording/utf8.h"

namespace memtrace::report {
namespace {

constexpr std::size_t kTransients = 5;
constexpr std::size_t kBeside = 6; // rows
constexpr std::size_t kAlive = 8;
constexpr double kLittle = 0.01; // of what is alive: fewer bytes of tensors need no table
constexpr std::size_t kParts = 4;
constexpr double kNothing = 0.005; // bytes per parameter: less is 0.00

// Names a block as the report does; the kind of a tensor without a role says only where it lies.
std::string shown_name(const KeptRow& row) {
  if (row.role == replay::Role::unknown && row.tensors && !row.buffer && !row.use.empty()) return row.use;
  return row.buffer ? row.name : words_of(row.name);
}

const char* plural(replay::Role role) {
  switch (role) {
    case replay::Role::parameter:
      return "parameters";
    case replay::Role::gradient:
      return "gradients";
    case replay::Role::optimizer_state:
      return "optimizer states";
    case replay::Role::master:
      return "master copies";
    case replay::Role::buffer:
      return "buffers";
    default:
      return "buffers of the engine";
  }
}

// Returns KiB below 1 MiB: a small model has 0.00 MiB.
std::string fine_size(std::uint64_t bytes) {
  return bytes >= 1 << 20 ? sized(bytes) : fmt::format("{:.1f} KiB", static_cast<double>(bytes) / 1024);
}

std::string theory(const std::optional<double>& value) {
  return value ? fmt::format("{:.2f}", *value) : "-";
}

class ExplainText {
 public:
  ExplainText(const Explanation& from, const Screen& screen)
      : from_(from), unit_(unit_for(static_cast<std::int64_t>(from.kept_bytes()))), lines_(screen) {}

  std::string write(std::optional<std::uint64_t> project) {
    head();
    if (from_.analysis->lacks_parameters())
      lines_.paragraph("", parameters_not_allocated(from_.analysis->facts()));
    if (!from_.model_leads()) alive();
    if (has_table()) per_parameter_rows();
    if (project) projection(*project);
    return lines_.take();
  }

 private:
  double per(std::uint64_t bytes) const { return from_.per_parameter(bytes); }

  // Returns the share of the model in what is alive, from 0.
  double part_of_model() const {
    return static_cast<double>(from_.model_sum()) / std::max(1.0, static_cast<double>(from_.alive));
  }

  // True if tensors, of the model and others, are enough to say something per parameter.
  bool has_table() const {
    std::uint64_t tensors = 0;
    for (const KeptRow& row : from_.kept) tensors += row.tensors ? row.bytes : 0;
    return static_cast<double>(tensors) >= kLittle * static_cast<double>(from_.alive);
  }

  void per_parameter_rows() {
    lines_.plain("");
    table();
    transients();
    parts();
    if (per(from_.pinned_idle) >= kNothing)
      lines_.paragraph("",
                       fmt::format("in the cache of PyTorch's pinned allocator and in no tensor: {} = {:.2f}",
                                   sized(from_.pinned_idle), per(from_.pinned_idle)));
    if (from_.model_leads()) beside();
    lines_.plain(fmt::format("unaccounted: {} = {:.2f}", size(from_.unaccounted),
                             from_.per_parameter(from_.unaccounted)));
  }

  // Writes what the parts of the first update kept. If they are many, as the functions of ZeRO's third stage,
  // which it marks for a GPU's profiler, only a number stands for those that kept and took nothing.
  void parts() {
    std::size_t without = 0;
    for (const PartOfStep& part : from_.parts) {
      const double kept = from_.per_parameter(part.kept), meanwhile = from_.per_parameter(part.transient);
      if (from_.parts.size() > kParts && std::abs(kept) < kNothing && meanwhile < kNothing) {
        ++without;
        continue;
      }
      lines_.paragraph("", printable(fmt::format("{} in step {}: {:+.2f} kept, {:.2f} meanwhile", part.name,
                                                 static_cast<std::int64_t>(part.step), kept, meanwhile)));
    }
    if (without != 0)
      lines_.paragraph("", fmt::format("{} more parts of step {}: 0.00 kept, 0.00 meanwhile each", without,
                                       static_cast<std::int64_t>(from_.parts.front().step)));
  }

  // Returns the sum, then the causes of the difference to theory.
  std::string per_parameter() const {
    std::string text = fmt::format("{:.2f} bytes per parameter kept", per(from_.kept_bytes()));
    if (!from_.theory) return text;
    text += fmt::format(", theory {:.2f}", *from_.theory);
    std::map<std::string, double> over;
    for (const KeptRow& row : from_.kept) over[shown_name(row)] += per(row.resident) - row.theory.value_or(0);
    std::string more;
    for (const auto& [name, bytes] : over)
      if (std::abs(bytes) >= 0.05) more += fmt::format("{} {:+.2f} {}", more.empty() ? ":" : ",", bytes, name);
    return text + more;
  }

  // Writes the sizes first if the model is little of what is alive: then bytes per parameter mislead.
  void sizes_first() {
    const std::uint64_t model = from_.model_sum();
    std::string parts;
    for (const auto& [role, bytes] : from_.model_bytes())
      parts += fmt::format("{} {} {}", parts.empty() ? ":" : ",", plural(role), fine_size(bytes));
    lines_.strong(fmt::format("The model takes {}{}. Besides, {} are allocated.", fine_size(model), parts,
                              sized(from_.alive - std::min(model, from_.alive))));
  }

  // Writes all that is alive, by the user's line, and then how little bytes per parameter say about it.
  void alive() {
    const auto total = static_cast<std::int64_t>(from_.alive);
    lines_.gap();
    write_held(*from_.analysis,
               {.set = from_.analysis->set(update_instant(from_.analysis->account, from_.memory)),
                .total = total,
                .unit = unit_for(total),
                .title = "Alive " + instant(),
                .sum = "total",
                .at = "",
                .others = "smaller"},
               kAlive, lines_);
    reserved();
    lines_.gap();
    lines_.paragraph("",
                     printable(fmt::format("The model is {:.1f} % of what is alive, so this says little: {}{}",
                                           100 * part_of_model(), per_parameter(),
                                           has_table() ? "" : ". --format json has the rows")));
  }

  // Not "after step 13": a validation after the last update comes later, and is so called.
  std::string instant() const { return fmt::format("after update {}", static_cast<std::int64_t>(from_.step)); }

  void reserved() {
    if (from_.reserved != 0)
      lines_.paragraph("",
                       fmt::format("Reserved and never touched, not counted above: {}", sized(from_.reserved)));
  }

  void head() {
    if (from_.model_leads()) {
      lines_.strong(printable(per_parameter()));
    } else {
      sizes_first();
    }
    const trace::Facts& facts = from_.analysis->facts();
    lines_.paragraph("",
                     fmt::format("{}  {}  {}", script_and_pid(facts), memory_name(from_.memory), instant()));
    lines_.paragraph("", printable("Setup seen: " + from_.setup));
    lines_.plain(fmt::format("P = {}: 1 B/param = {}", count(from_.parameters), sized(from_.parameters)));
  }

  std::string since_of(const KeptRow& row) const {
    return since(row.phase, row.step, std::max(row.step, row.last_step), from_.analysis->after_training);
  }

  std::string site(const KeptRow& row) const {
    if (row.stack == format::StackId{}) return "-";
    std::string out = line_and_allocator(from_.analysis->symbolizer->site(row.stack));
    if (row.sites.size() > 1) out = fmt::format("{} sites, most: {}", row.sites.size(), out);
    return out;
  }

  // Writes the rows of kept bytes and their sum.
  void table() {
    Table table(0, {Column::text("", 18, 22), Column::extra("asked", 9), Column::number("resident", 9),
                    Column::number("B/param", 8), Column::number("theory", 7), Column::text("since", 11, 16),
                    Column::source_line(fmt::format("site ({})", unit_.name))});
    const auto figure = [this](std::uint64_t bytes) {
      return in_unit(static_cast<std::int64_t>(bytes), unit_);
    };
    std::uint64_t asked = 0;
    for (const KeptRow& row : from_.kept) {
      const bool live = row.state == KeptRow::Retention::live;
      table.row({printable(shown_name(row)), figure(row.asked), figure(row.resident),
                 fmt::format("{:.2f}", per(row.resident)), theory(row.theory),
                 live ? printable(since_of(row)) : "freed",
                 live ? printable(site(row)) : "not given back to the kernel"});
      remarks(row, table, from_.parameters);
      asked += row.asked;
    }
    const std::uint64_t kept = from_.kept_bytes();
    table.row({"kept", figure(asked), figure(kept), fmt::format("{:.2f}", per(kept)), theory(from_.theory)});
    table.write(lines_);
  }

  // Writes what is alive and in no row, by the user's line.
  void beside() {
    const auto total = static_cast<std::int64_t>(from_.beside - from_.reserved);
    if (from_.beside_blocks.empty() || total == 0) {
      lines_.paragraph("", fmt::format("not per parameter: {} live beside", sized(from_.beside)));
      return;
    }
    lines_.gap();
    write_held(*from_.analysis,
               {.set = from_.beside_blocks,
                .total = total,
                .unit = unit_for(total),
                .title = "Not per parameter",
                .sum = "total",
                .at = "",
                .others = "smaller"},
               kBeside, lines_);
    reserved();
  }

  // Writes below a row which bytes of it never came into memory, or came late.
  static void remarks(const KeptRow& row, Table& table, std::uint64_t parameters) {
    const std::uint64_t least = std::max<std::uint64_t>(row.bytes / 100, parameters / 100);
    if (row.bytes > row.resident + least)
      table.remark(fmt::format("  of {} given, {} never came into memory", sized(row.bytes),
                               sized(row.bytes - row.resident)));
    if (row.late > row.resident / 2)
      table.remark(printable(fmt::format("  ! {} of it came into memory only in {}", sized(row.late),
                                         when(row.late_phase, row.late_step))));
  }
  void transients() {
    for (std::size_t i = 0; i < std::min(kTransients, from_.transient.size()); ++i) {
      const KeptRow& row = from_.transient[i];
      const std::string made = since(row.phase, row.step, row.step, from_.analysis->after_training);
      lines_.paragraph("", printable(fmt::format(
                               "not kept: {} {} = {:+.2f} {}{}, alive {}: {}", shown_name(row),
                               sized(row.resident), per(row.resident), made.starts_with("after") ? "" : "in ",
                               made, duration(static_cast<double>(row.lifetime) / 1e9), site(row))));
    }
  }

  void projection(std::uint64_t project) {
    const double each = per(from_.kept_bytes());
    std::string text = fmt::format("--project {}: {} kept", count(project),
                                   gigabytes(static_cast<std::uint64_t>(each * static_cast<double>(project))));
    if (from_.theory)
      text += fmt::format(" instead of {}",
                          gigabytes(static_cast<std::uint64_t>(*from_.theory * static_cast<double>(project))));
    lines_.paragraph("", text);
  }

  const Explanation& from_;
  Unit unit_;
  Lines lines_;
};

} // namespace

std::string explain_text(const Explanation& explanation, std::optional<std::uint64_t> project,
                         const Screen& screen) {
  return ExplainText(explanation, screen).write(project);
}

} // namespace memtrace::report
