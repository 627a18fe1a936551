// Purpose: writes a finding as JSON.
#include "analyzer/print/json/finding_json.h"

#include <utility>

namespace memtrace::report {

namespace {

Json saving_json(const std::optional<PeakSaving>& saving) {
  if (!saving) return nullptr;
  return {{"measure", saving->measure == replay::Measure::tensor ? "tensor" : "live"},
          {"bytes", saving->bytes}};
}

} // namespace

Json finding_json(const Finding& finding, Json site) {
  Json evidence = Json::array();
  for (const std::string& line : finding.evidence) evidence.push_back(line);
  return {{"id", finding.id},
          {"title", finding.title},
          {"memory", memory_name(finding.memory)},
          {"phase", finding.phase},
          {"step", step_json(finding.step)},
          {"bytes", finding.bytes},
          {"bytes_at_peak", finding.bytes_at_peak},
          {"bytes_at_end", finding.bytes_at_end},
          {"saving", saving_json(finding.saving)},
          {"confidence", finding.certain ? "certain" : "likely"},
          {"evidence", std::move(evidence)},
          {"remedy", finding.remedy},
          {"no_remedy", finding.no_remedy.empty() ? Json(nullptr) : Json(finding.no_remedy)},
          {"site", std::move(site)}};
}

} // namespace memtrace::report
