// Purpose: writes the last lines of a report: events, losses, and limits of the recording.
#include "analyzer/print/text/losses_text.h"

#include <fmt/core.h>

#include <iterator>
#include <numeric>
#include <string_view>

#include "analyzer/explain/rings_only.h"
#include "analyzer/wording/labels.h"
#include "analyzer/wording/newer_parts.h"
#include "analyzer/wording/torch_snapshot_text.h"
#include "analyzer/wording/units.h"
#include "analyzer/wording/utf8.h"

namespace memtrace::report {

namespace {

// Returns which functions of PyTorch and its kin this memtrace looked for and did not find, or "". A note is
// "python-unpatched=torch.optim.optimizer.optimizer_step AttributeError(...)".
std::string missing_functions(const trace::Facts& facts) {
  constexpr std::string_view kKey = "python-unpatched=";
  constexpr std::size_t kNamed = 3;
  std::string names;
  std::size_t missing = 0;
  for (const std::string& note : facts.notes) {
    if (!note.starts_with(kKey) || ++missing > kNamed) continue;
    const std::string name = note.substr(kKey.size(), note.find(' ') - kKey.size());
    names += (names.empty() ? "" : ", ") + printable(name);
  }
  if (missing == 0) return "";
  if (missing > kNamed) names += fmt::format(" and {} more", missing - kNamed);
  return fmt::format(
      "; phases or roles are missing: this version of a package differs from what memtrace knows ({})", names);
}

// Returns the pauses of the program's threads, or "" if none is recorded.
std::string pauses_text(const ProcessAnalysis& analysis) {
  const format::Pauses& pauses = analysis.facts().pauses;
  if (pauses.sum_ns == 0) return "";
  const std::uint64_t number =
      std::accumulate(std::begin(pauses.count), std::end(pauses.count), std::uint64_t{0});
  const double run = analysis.seconds(analysis.facts().last_stamp),
               sum = static_cast<double>(pauses.sum_ns) / 1e9;
  const std::string share = run > 0 ? fmt::format(" ({:.2f} % of the time)", 100 * sum / run) : "";
  return fmt::format("memtrace paused threads {}: {:.1f} ms in all{}, at most {:.1f} ms",
                     number == 1 ? "once" : count(number) + " times", 1e3 * sum, share,
                     static_cast<double>(pauses.longest_ns) / 1e6);
}

} // namespace

void write_losses(ProcessAnalysis& analysis, Lines& lines) {
  if (torch_history(analysis.facts())) return; // its events are not those of a recording
  const trace::Losses& losses = analysis.losses;
  std::string text =
      fmt::format("events: {}, lost: {}", count(analysis.account.counts.records), count(losses.total()));
  for (const auto& [reason, number] : losses.events)
    text += fmt::format(" ({} {})", printable(reason), count(number));
  if (losses.cut_stacks != 0)
    text += fmt::format(", stacks cut short: {}, for there were more than the recorder keeps",
                        count(losses.cut_stacks));
  if (losses.coarsened != 0) text += fmt::format(", folded into rows: {}", count(losses.coarsened));
  if (losses.left_out != 0) text += fmt::format(", left out by --quick: {}", count(losses.left_out));
  if (losses.damaged_bytes != 0) {
    text +=
        fmt::format("; {} of {} bytes are damaged, from byte {} of {} on", count(losses.damaged_bytes),
                    count(analysis.trace->bytes()), count(losses.damaged_at), printable(losses.damaged_file));
  }
  if (const std::string newer = newer_parts(analysis.trace->newer()); !newer.empty())
    text += fmt::format("; not read: {}", newer);
  if (const auto bound = analysis.facts().note("bound"))
    text += bound->starts_with("counts")
                ? "; MEMTRACE_MAX_NODE left no room for more: heap blocks are counted, not recorded"
                : "; MEMTRACE_MAX_NODE left less room for this process than MEMTRACE_MAX_TRACE";
  if (const auto object = analysis.facts().note("malloc"))
    text +=
        *object == "valgrind"
            ? std::string("; blocks of malloc are not recorded: valgrind's tool has put its own in its place")
            : fmt::format("; blocks of malloc are not recorded: {} has a malloc of its own, which comes first",
                          printable(*object));
  if (analysis.facts().note("valgrind"))
    text += "; valgrind admits no thread of memtrace's: between its first and last moment there are no samples";
  // The note is "unsupported 3.14.0 free-threading build (main, ...". The text before the parenthesis names the
  // version.
  if (const auto python = analysis.facts().note("python"))
    text += fmt::format("; no Python frames, stacks are native only (Python: {})",
                        printable(python->substr(0, python->find(" ("))));
  text += missing_functions(analysis.facts());
  if (const auto package = analysis.facts().note("python-package"))
    text += fmt::format("; the package memtrace of this program is another project's, without marks: {}",
                        printable(*package));
  lines.paragraph("", text);
  if (const std::string limited = rings_only_text(analysis); !limited.empty()) lines.paragraph("", limited);
  if (const auto own = analysis.own_bytes())
    lines.plain(fmt::format("memtrace's own memory: {}", size(static_cast<std::int64_t>(*own))));
  if (const std::string pauses = pauses_text(analysis); !pauses.empty()) lines.plain(pauses);
}

} // namespace memtrace::report
