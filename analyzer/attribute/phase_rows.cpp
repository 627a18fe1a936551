// Purpose: the rows of all steps, packed.
#include "analyzer/attribute/phase_rows.h"

#include <algorithm>

#include "analyzer/replay/wrapping_sum.h"
#include "preload/format/record_coding.h"

namespace memtrace::replay {
namespace {

class RowWriter {
 public:
  explicit RowWriter(std::deque<std::uint8_t>& out) : out_(out) {}

  void number(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) out_.push_back(static_cast<std::uint8_t>(value | 0x80));
    out_.push_back(static_cast<std::uint8_t>(value));
  }
  template <typename T>
  void operator()(T& last, const T& now) {
    number(format::zigzag(
        static_cast<std::int64_t>(static_cast<std::uint64_t>(now) - static_cast<std::uint64_t>(last))));
    last = now;
  }

 private:
  std::deque<std::uint8_t>& out_;
};

class RowReader {
 public:
  explicit RowReader(std::deque<std::uint8_t>::const_iterator& at) : at_(at) {}

  std::uint64_t number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const std::uint8_t byte = *at_++;
      value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return value;
    }
  }
  template <typename T>
  void operator()(T& last, const T&) {
    last = static_cast<T>(static_cast<std::uint64_t>(last) +
                          static_cast<std::uint64_t>(format::unzigzag(number())));
  }

 private:
  std::deque<std::uint8_t>::const_iterator& at_;
};

// Reading and writing share the list of fields below. `code` takes the last value of a field and the present
// one; reading ignores the present one.
template <typename Code>
void figures(Code& code, Figures& last, const Figures& now) {
  code(last.entry, now.entry);
  code(last.exit, now.exit);
  code(last.peak, now.peak);
  code(last.transient, now.transient);
  code(last.net, now.net);
  code(last.peak_at, now.peak_at);
}

template <typename Code>
void resident(Code& code, Resident& last, const Resident& now) {
  code(last.anon, now.anon);
  code(last.file, now.file);
  code(last.shmem, now.shmem);
}

static_assert(
    sizeof(Figures) == 6 * sizeof(std::int64_t) &&
        sizeof(MemoryRow) == 4 * sizeof(Figures) + 3 * sizeof(std::uint64_t),
    "a figure that is new must be in figures() or fields(), in both join(), and in steady_steps.cpp; see "
    "'A column of a table' in CONTRIBUTING.md");

// Codes the figures of a row. The number of memories, and whether there are samples, were coded before.
template <typename Code>
void fields(Code& code, Row& last, const Row& now) {
  code(last.step, now.step);
  code(last.began, now.began);
  code(last.count, now.count);
  code(last.entered, now.entered);
  code(last.left, now.left);
  for (std::size_t i = 0; i < last.memory.size(); ++i) {
    MemoryRow& before = last.memory[i];
    const MemoryRow& after = now.memory[i];
    figures(code, before.live, after.live);
    figures(code, before.tensor, after.tensor);
    figures(code, before.reserved, after.reserved);
    figures(code, before.used, after.used);
    code(before.allocated, after.allocated);
    code(before.freed, after.freed);
    code(before.allocations, after.allocations);
  }
  if (!last.rss) return;
  resident(code, last.rss->entry, now.rss->entry);
  resident(code, last.rss->exit, now.rss->exit);
  resident(code, last.rss->peak, now.rss->peak);
}

void shape(Row& last, std::size_t memories, bool sampled) {
  last.memory.resize(memories);
  if (sampled != last.rss.has_value()) last.rss = sampled ? std::optional(ResidentSpan{}) : std::nullopt;
}

void join(Figures& figures, const Figures& later) {
  if (later.peak > figures.peak) figures.peak = later.peak, figures.peak_at = later.peak_at;
  figures.transient = std::max(figures.transient, later.transient);
  figures.exit = later.exit;
  figures.net = wrapping_add(figures.net, later.net);
}

} // namespace

const MemoryRow& Row::of(MemoryId id) const {
  static const MemoryRow nothing;
  return id < memory.size() ? memory[id] : nothing;
}

void Rows::add(const Row& row) {
  Row& last = last_[row.path];
  last.path = row.path;
  shape(last, row.memory.size(), row.rss.has_value());
  RowWriter put(coded_);
  put.number(static_cast<std::uint64_t>(row.path));
  put.number(row.memory.size() << 4 | (row.rss ? 8u : 0u) | (row.again ? 4u : 0u) | (row.partial ? 2u : 0u) |
             (row.skipped ? 1u : 0u));
  fields(put, last, row);
  ++size_;
}

Rows::Iterator::Iterator(const std::deque<std::uint8_t>::const_iterator& at, std::size_t left)
    : at_(at), left_(left) {
  decode();
}

Rows::Iterator& Rows::Iterator::operator++() {
  --left_;
  decode();
  return *this;
}

void Rows::Iterator::decode() {
  if (left_ == 0) return;
  RowReader get(at_);
  const auto path = static_cast<PathId>(get.number());
  const std::uint64_t head = get.number();
  Row& row = last_[path];
  row.path = path;
  row.skipped = (head & 1) != 0;
  row.partial = (head & 2) != 0;
  row.again = (head & 4) != 0;
  shape(row, head >> 4, (head & 8) != 0);
  fields(get, row, row);
  row_ = &row;
}

void join(Row& row, const Row& later) {
  if (later.count != 0) {
    if (row.count == 0) row.entered = later.entered;
    row.left = later.left;
  }
  row.memory.resize(std::max(row.memory.size(), later.memory.size()));
  for (std::size_t i = 0; i < later.memory.size(); ++i) {
    MemoryRow& sum = row.memory[i];
    const MemoryRow& more = later.memory[i];
    const std::int64_t used = higher_use(sum.used.peak, more.used.peak);
    const bool both = row.count != 0 && later.count != 0;
    for (Figures MemoryRow::*measure :
         {&MemoryRow::live, &MemoryRow::tensor, &MemoryRow::reserved, &MemoryRow::used}) {
      if (later.count == 0) break; // only flows: no occurrence ended in it
      if (row.count == 0) {
        sum.*measure = more.*measure;
      } else {
        join(sum.*measure, more.*measure);
      }
    }
    if (both) sum.used.peak = used;
    sum.allocated += more.allocated;
    sum.freed += more.freed;
    sum.allocations += more.allocations;
  }
  row.count += later.count - (later.again && row.count != 0 && later.count != 0 ? 1 : 0);
  row.skipped = row.skipped || later.skipped;
  row.partial = row.partial || later.partial;
  if (!row.rss) {
    row.rss = later.rss;
  } else if (later.rss) {
    row.rss->exit = later.rss->exit;
    if (later.rss->peak.sum() > row.rss->peak.sum()) row.rss->peak = later.rss->peak;
  }
}

} // namespace memtrace::replay
