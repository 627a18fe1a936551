// Purpose: the ledgers that memtrace took while the process ran: the highest by RSS, the first and the last.
#include "analyzer/trace/rss_ledgers.h"

#include <algorithm>

#include "analyzer/trace/thinned_series.h"
#include "preload/format/ledger_soundness.h"

namespace memtrace::trace {

using format::EventType;

void Ledgers::add(const Event& event) {
  if (event.type == EventType::sample_ledger) {
    head(event);
  } else if (event.type == EventType::sample_resident) {
    row(event);
  } else if (event.type == EventType::sample_process) {
    high_water_ = std::max(high_water_, event.as<format::SampleProcessEvent>().high_water);
  }
}

namespace {

void add_to(LedgerPoint& point, format::LedgerRow row, const LedgerBytes& amount) {
  using format::LedgerRow;
  if (row == LedgerRow::kept) point.kept = amount.resident;
  const bool blocks = row == LedgerRow::anonymous || row == LedgerRow::tensors || row == LedgerRow::heap;
  if (blocks && amount.given > amount.resident) point.untouched += amount.given - amount.resident;
}

// A page that the parent gave up and a sibling had counts as copied once that sibling has ended. So the ledger
// at the end shows what was copied only if no other ledger is of the second half of the time.
bool shows_copies(const std::optional<ProcessLedger>& first, const std::optional<ProcessLedger>& last,
                  const std::vector<LedgerPoint>& all) {
  if (!first || !last || !last->at_end || all.size() < 2) return true;
  return all[all.size() - 2].stamp < first->stamp + (last->stamp - first->stamp) / 2;
}

format::LedgerWorth worth(const ProcessLedger& ledger) {
  return {ledger.total, ledger.allocator_asked, ledger.drift};
}

} // namespace

// The flag `again` marks a repetition. The recorder repeats the highest ledger in a new window, because the
// window that has the original may be dropped. A repetition is used only if it is the highest.
void Ledgers::head(const Event& event) {
  const bool again = (event.flags & format::kLedgerAgain) != 0;
  const auto said = event.as<format::SampleLedgerEvent>();
  ProcessLedger ledger;
  ledger.stamp = said.taken;
  ledger.total = said.resident;
  ledger.high_water = said.high_water;
  ledger.swap = said.swap;
  ledger.drift = said.drift;
  ledger.allocator_asked = (event.flags & format::kLedgerAsked) != 0;
  ledger.at_end = (event.flags & format::kLedgerLast) != 0;
  if (!again) ++taken_;
  shared_ = 0;
  high_water_ = std::max(high_water_, ledger.high_water);
  into_highest_ = !highest_ || format::beats(worth(ledger), worth(*highest_));
  if (const ProcessLedger* const closed = highest_closed(); !again && closed != nullptr)
    highest_closed_ = *closed;
  into_last_ = !again;
  into_first_ = !again && !first_;
  if (into_first_) first_ = ledger;
  if (into_highest_) highest_ = ledger;
  if (into_last_) {
    last_ = ledger;
    keep_thinned(all_, LedgerPoint{ledger.stamp, ledger.total, 0, 0, ledger.at_end, ledger.allocator_asked});
  }
}

void Ledgers::row(const Event& event) {
  const std::size_t which = event.flags >> format::kRowShift;
  if (which >= format::kLedgerRows) return;
  const auto said = event.as<format::SampleResidentEvent>();
  const bool sampled = (event.flags & format::kRowIsSampled) != 0;
  const LedgerBytes amount{said.resident, said.given, said.parts, sampled};
  // `inherited` is before `copied`.
  if (static_cast<format::LedgerRow>(which) == format::LedgerRow::inherited) shared_ = amount.resident;
  if (static_cast<format::LedgerRow>(which) == format::LedgerRow::copied && shows_copies(first_, last_, all_) &&
      (!most_copied_ || amount.resident > most_copied_->copied))
    most_copied_ = {amount.resident, shared_};
  if (into_last_ && !all_.empty()) add_to(all_.back(), static_cast<format::LedgerRow>(which), amount);
  if (into_first_ && first_) first_->rows[which] = amount;
  if (into_highest_ && highest_) highest_->rows[which] = amount;
  if (into_last_ && last_) last_->rows[which] = amount;
}

const ProcessLedger* Ledgers::highest_closed() const {
  const bool last = last_ && last_->closes() && (!highest_closed_ || last_->total > highest_closed_->total);
  return last ? &*last_ : highest_closed_ ? &*highest_closed_ : nullptr;
}

bool ProcessLedger::closes() const {
  std::uint64_t sum = 0;
  for (const auto& row : rows)
    if (row) sum += row->resident;
  const auto& huge = rows[static_cast<std::size_t>(format::LedgerRow::huge)];
  const std::uint64_t all = total + (huge ? huge->resident : 0);
  return (sum > all ? sum - all : all - sum) <= all / 100;
}

} // namespace memtrace::trace
