// Purpose: writes a ledger that was taken as records of the trace.
// Runs: on the background thread.
#include "preload/rss/ledger_records.h"

#include "preload/format/ledger_soundness.h"
#include "preload/format/sample_events.h"
#include "preload/kernel/proc_file.h"
#include "preload/os/timestamp.h"
#include "preload/samples/kernel_samples.h"
#include "preload/state/new_record.h"
#include "preload/trace/trace_windows.h"

namespace memtrace::record {

using format::RingRecord;

namespace {

constexpr std::size_t kRecords = 1 + format::kLedgerRows;

constinit RingRecord highest[kRecords] = {}; // a copy, because its window may be dropped
constinit std::size_t highest_records = 0;
constinit std::uint32_t highest_in = 0; // the last stretch that has it

std::uint64_t known(std::uint64_t value) {
  return value == format::kNotSaid ? 0 : value;
}

std::uint32_t in_us(std::uint64_t ns) {
  return static_cast<std::uint32_t>(ns / 1000);
}

RingRecord head(const Residents& residents, std::uint16_t flags) {
  format::SampleLedgerEvent ledger{};
  ledger.resident = residents.total;
  ledger.drift = residents.drift;
  ledger.cost_us = in_us(residents.cost);
  ledger.paused_us = in_us(residents.stood);
  RingRecord record = record_of(ledger);
  record.flags = flags;
  if (residents.allocator_asked) record.flags |= format::kLedgerAsked;
  if (const char* const text = read_kernel_file("/proc/self/status"); text != nullptr) {
    ledger.high_water = known(kib_after(text, "VmHWM:"));
    ledger.swap = known(kib_after(text, "VmSwap:"));
  }
  ledger.taken = record.stamp;
  record.put(ledger);
  return record;
}

// Writes the rows that are not empty to `out`. Returns their number.
std::size_t rows(const Residents& residents, RingRecord* out) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < format::kLedgerRows; ++i) {
    const LedgerAmount& amount = residents.row[i];
    if (amount.resident == 0 && amount.given == 0) continue;
    RingRecord record = record_of(format::SampleResidentEvent{amount.resident, amount.given, amount.parts});
    record.flags =
        static_cast<std::uint16_t>(i << format::kRowShift | (amount.sampled ? format::kRowIsSampled : 0));
    out[count++] = record;
  }
  return count;
}

format::LedgerWorth worth(const RingRecord& head) {
  const auto ledger = head.as<format::SampleLedgerEvent>();
  return {ledger.resident, (head.flags & format::kLedgerAsked) != 0, ledger.drift};
}

// Writes the highest ledger again, before the next records, so that a reader of that stretch has it first.
bool say_highest_again() {
  for (std::size_t i = 0; i < highest_records; ++i) highest[i].stamp = draw_stamp();
  highest[0].flags = static_cast<std::uint16_t>(highest[0].flags | format::kLedgerAgain);
  return append_samples(highest, highest_records);
}

} // namespace

bool write_ledger(const Residents& residents, std::uint16_t flags) {
  static constinit RingRecord records[kRecords] = {};
  records[0] = head(residents, flags);
  const std::size_t count = 1 + rows(residents, records + 1);
  const bool is_highest = highest_records == 0 || format::beats(worth(records[0]), worth(highest[0]));
  if (!is_highest && highest_in != current_stretch() && say_highest_again()) highest_in = current_stretch();
  if (!append_samples(records, count)) return false;
  if (!is_highest) return true;
  for (std::size_t i = 0; i < count; ++i) highest[i] = records[i];
  highest_records = count;
  highest_in = current_stretch();
  return true;
}

void forget_ledger_records() {
  highest_records = 0;
  highest_in = 0;
}

} // namespace memtrace::record
