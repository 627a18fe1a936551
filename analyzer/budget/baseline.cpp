// Purpose: the budgets that an earlier report sets for a later one.
#include "analyzer/budget/baseline.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "analyzer/files/reading.h"
#include "analyzer/job/usage_error.h"

namespace memtrace::budget {
namespace {

constexpr std::uint64_t kLargestReport = 1 << 30; // bytes
constexpr std::int64_t kSlack = 1 << 20;          // bytes, of live levels
constexpr std::size_t kMostBudgets = 1000;
constexpr std::string_view kSchema = "memtrace.report/1";

Json parsed(const std::string& path) {
  std::string why;
  const auto text = files::read(path, files::Origin::named, kLargestReport, why);
  if (!text) throw report::UsageError(fmt::format("--baseline {}: {}", path, why));
  return Json::parse(*text, nullptr, false);
}

class BaselineBudgets {
 public:
  explicit BaselineBudgets(const Json& old, double tolerance) : old_(old), tolerance_(tolerance) {}

  void add(MemoryBudget budget) {
    if (!seen_.insert(expression_of(budget)).second) return;
    if (out_.size() == kMostBudgets)
      throw report::UsageError(
          fmt::format("the baseline has more than {} figures; write it without --all-steps", kMostBudgets));
    const Measured was = measure(old_, budget);
    if (!was.known) return;
    const auto more = static_cast<std::int64_t>(static_cast<double>(was.figure) * tolerance_);
    const bool varies = budget.measure == "live" && budget.quantity != Quantity::leak;
    budget.limit = was.figure + (varies ? std::max(more, kSlack) : more);
    budget.text = fmt::format("{} <= {} (baseline {})", expression_of(budget),
                              figure_text(budget, budget.limit), figure_text(budget, was.figure));
    out_.push_back(std::move(budget));
  }
  std::vector<MemoryBudget> take() && { return std::move(out_); }

 private:
  const Json& old_;
  double tolerance_;
  std::set<std::string> seen_;
  std::vector<MemoryBudget> out_;
};

MemoryBudget of(Quantity quantity, const Json& row, std::string phase, std::string measure) {
  MemoryBudget out;
  out.quantity = quantity;
  out.memory = text_of(member(row, "memory"));
  out.phase = std::move(phase);
  out.measure = std::move(measure);
  return out;
}

void add_process(const Json& process, BaselineBudgets& all) {
  for (const Json& peak : member(process, "peaks")) {
    const std::string measure = text_of(member(peak, "measure"));
    // The figures of the kernel and of the GPU depend on the machine.
    if (measure == "live" || measure == "tensor" || measure == "reserved")
      all.add(of(Quantity::peak, peak, "", measure));
    if (measure == "live") all.add(of(Quantity::leak, peak, "", measure));
  }
  for (const Json& row : member(process, "phase_peaks"))
    for (const char* const measure : {"live", "tensor"})
      all.add(of(Quantity::phase, row, path_of(row), measure));
}

Json read_report(const std::string& path) {
  Json report = parsed(path);
  if (report.is_discarded())
    throw report::UsageError(fmt::format(
        "--baseline {}: is not JSON; write it with: memtrace report --format json -o {}", path, path));
  if (text_of(member(report, "schema")) != kSchema)
    throw report::UsageError(
        fmt::format("--baseline {}: is not a report ({}); write it with: memtrace report --format json -o {}",
                    path, kSchema, path));
  return report;
}

} // namespace

std::vector<MemoryBudget> budgets_of(const Json& old, double tolerance) {
  BaselineBudgets all(old, tolerance);
  for (const Json& process : member(old, "processes")) add_process(process, all);
  return std::move(all).take();
}

std::vector<MemoryBudget> baseline_budgets(const std::string& path, double tolerance) {
  std::vector<MemoryBudget> out = budgets_of(read_report(path), tolerance);
  if (out.empty())
    throw report::UsageError(
        fmt::format("--baseline {}: this report has no figures; trace the program again", path));
  return out;
}

} // namespace memtrace::budget
