// Room: fold. Pure: ids in, numbers out.
// Job: the first pass: levels and flows of every phase and step, and where the peaks are.
#include "fold/attribution.h"

#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

#include "fold/wrap.h"

namespace memtrace::fold {
namespace {

using format::EventType;

struct Span { // of one measure in one open phase
  std::int64_t entry = 0;
  std::int64_t peak = 0;
  trace::Ordinal peak_at = 0;

  void start(std::int64_t level, trace::Ordinal at) { entry = peak = level, peak_at = at; }
  void raise(std::int64_t level, trace::Ordinal at) {
    if (level > peak) peak = level, peak_at = at;
  }
};

struct MemorySpan {
  Span live;
  Span tensor;
  Span reserved;
  Span used;
};

struct Growing { // a row that may still change
  Row row;
  std::size_t open = 0; // occurrences
};

struct Open {
  OccurrenceId id;
  Growing* row;
  bool again; // it goes on after a gap: the same occurrence
  std::vector<MemorySpan> memory;
  std::optional<ResidentSpan> rss;
};

void merge(Figures& row, const Span& span, std::int64_t exit, bool first) {
  const std::int64_t transient = minus(span.peak, std::max(span.entry, exit));
  if (first) row.entry = span.entry;
  if (first || span.peak > row.peak) row.peak = span.peak, row.peak_at = span.peak_at;
  row.transient = first ? transient : std::max(row.transient, transient);
  row.exit = exit;
  row.net = plus(row.net, minus(exit, span.entry));
}

class Attribution : public Observer {
 public:
  Account take() && { return std::move(account_); }
  Account& result() { return account_; }

  void began(const Occurrence& occurrence) override {
    Open open{occurrence.id, &row(occurrence.path, occurrence.step), occurrence.again, {}, {}};
    ++open.row->open;
    open.memory.resize(seen_);
    for (std::size_t i = 0; i < seen_; ++i) {
      const Level& level = ledger().level(static_cast<MemoryId>(i));
      open.memory[i].live.start(level.live, now_);
      open.memory[i].tensor.start(level.tensor, now_);
      open.memory[i].reserved.start(reserved_[i], now_);
      open.memory[i].used.start(used_[i], now_);
    }
    open_.push_back(std::move(open));
    account_.last_step = std::max(account_.last_step, occurrence.step);
  }

  void ended(const Occurrence& occurrence, bool skipped) override {
    // Usually the last one; with several threads not always.
    const auto at =
        std::find_if(open_.rbegin(), open_.rend(), [&](const Open& open) { return open.id == occurrence.id; });
    if (at == open_.rend()) return;
    close(*at, skipped);
    open_.erase(std::next(at).base());
    updated_ = !skipped && phases().paths().text(phases().paths().last(occurrence.path)) == "step"
                   ? occurrence.step
                   : updated_;
  }

  void flow(MemoryId memory, std::uint64_t allocated, std::uint64_t freed, std::uint64_t allocations) override {
    pending_.push_back({memory, allocated, freed, allocations});
  }

  void after(const trace::Event& event, const Place& place) override {
    now_ = event.ordinal;
    if (updated_ != Step::none) note_update(event.stamp);
    if (!pending_.empty()) {
      Row& at = row(place.path, place.step).row;
      for (const Flow& flow : pending_) {
        see(flow.memory);
        MemoryRow& figures = memory_row(at, flow.memory);
        figures.allocated += flow.allocated;
        figures.freed += flow.freed;
        figures.allocations += flow.allocations;
      }
      pending_.clear();
    }
    if (event.flags >> format::kMemoryShift != 0) follow(event);
    if (is_said(event.type)) return said(event, place);
    levels(event, place);
  }

  void cut(const trace::Event& event) override {
    for (const Open& open : open_) open.row->row.partial = true;
    close_all();
    account_.detail.push_back({from_, before(phases().step())});
    from_ = static_cast<Step>(std::int64_t{format::high(event.word[0])}); // the step after the present one
    std::fill(reserved_.begin(), reserved_.end(), 0);
    std::fill(used_.begin(), used_.end(), 0);
    for (auto& [memory, card] : cards_) card.forget();
    now_ = event.ordinal;
  }

  void finished() override {
    close_all();
    account_.last_step = std::max(account_.last_step, phases().step());
    account_.detail.push_back({from_, std::max(account_.last_step, Step{0})});
    pack_all();
    account_.paths = phases().paths();
    account_.first_update = phases().first_update();
    account_.unknown_deaths = ledger().unknown_deaths();
  }

  void started() override {
    account_.peaks[0];
    see(0);
    const Level inherited = ledger().level(0);
    account_.peaks[0].live.bytes = inherited.live;
    account_.peaks[0].tensor.bytes = inherited.tensor;
    account_.tensors = inherited.tensor != 0;
  }

 private:
  struct Flow {
    MemoryId memory;
    std::uint64_t allocated, freed, allocations;
  };

  void note_update(format::Stamp stamp) {
    account_.last_update = Update{now_, stamp, updated_, pinned_idle_, {}};
    for (std::size_t i = 0; i < seen_; ++i)
      account_.last_update->levels.push_back(ledger().level(static_cast<MemoryId>(i)));
    updated_ = Step::none;
  }

  // What somebody else measured: not summed up from births and deaths.
  static bool is_said(EventType type) {
    using enum EventType;
    return type == sample_process || type == sample_ledger || type == sample_resident || type == reserved ||
           type == sample_device || type == format::EventType::level;
  }

  void said(const trace::Event& event, const Place& place) {
    if (event.type == EventType::reserved) return reserved(event, place);
    if (event.type == EventType::sample_device) return used(event, place);
    if (event.type == EventType::level) return level(event);
    if (event.type == EventType::sample_process) sample(event, place);
    account_.ledgers.add(event);
  }

  void follow(const trace::Event& event) {
    using enum EventType;
    const EventType type = event.type;
    if (type == birth || type == death || type == reserved || type == format::EventType::level || type == held)
      cards_[static_cast<MemoryId>(event.flags >> format::kMemoryShift)].follow(event);
  }

  void close_all() {
    for (Open& open : open_)
      close(open, false); // the oldest first: a row's entry is that of its first occurrence
    open_.clear();
  }

  static Step before(Step step) { return static_cast<Step>(static_cast<std::int64_t>(step) - 1); }

  // What a window begins with. It is no news, so no peak is made here.
  void level(const trace::Event& event) {
    const auto memory = static_cast<MemoryId>(event.flags >> format::kMemoryShift);
    see(memory);
    account_.peaks[memory];
    reserved_[memory] = static_cast<std::int64_t>(event.word[2]);
    if (reserved_[memory] != 0 && !account_.peaks[memory].reserved) account_.peaks[memory].reserved.emplace();
    account_.tensors = account_.tensors || event.word[1] != 0;
  }

  void see(MemoryId memory) {
    if (memory < seen_) return;
    seen_ = std::size_t{memory} + 1;
    reserved_.resize(seen_);
    used_.resize(seen_);
  }

  Growing& row(PathId path, Step step) {
    if (recent_ != nullptr && recent_->row.path == path && recent_->row.step == step) return *recent_;
    auto at = growing_.find({path, step});
    if (at == growing_.end()) {
      if (growing_.size() >= most_growing_) seal();
      at = growing_.try_emplace({path, step}).first;
      at->second.row.path = path;
      at->second.row.step = step;
      at->second.row.began = ++rows_begun_;
    }
    recent_ = &at->second;
    return *recent_;
  }

  // Packs the rows of steps that are over. Should one of them go on after all, its parts are joined at the end.
  void seal() {
    std::vector<const Row*> over;
    for (const auto& [key, growing] : growing_) {
      if (growing.open == 0 && key.second != phases().step()) over.push_back(&growing.row);
    }
    pack(over);
    for (const Row* row : over) growing_.erase({row->path, row->step});
    most_growing_ = std::max(kGrowing, 2 * growing_.size());
    recent_ = nullptr;
  }

  void pack(std::vector<const Row*>& rows) {
    std::sort(rows.begin(), rows.end(), [](const Row* a, const Row* b) { return a->began < b->began; });
    for (const Row* row : rows) {
      const auto [last, fresh] = last_packed_.try_emplace(row->path, row->step);
      if (!fresh && row->step <= last->second) parts_ = true;
      last->second = std::max(last->second, row->step);
      account_.rows.add(*row);
    }
  }

  void pack_all() {
    std::vector<const Row*> rest;
    for (const auto& [key, growing] : growing_) rest.push_back(&growing.row);
    pack(rest);
    if (!parts_) return;
    std::map<std::pair<PathId, Step>, Row> whole;
    for (const Row& part : account_.rows) {
      const auto [at, fresh] = whole.try_emplace({part.path, part.step}, part);
      if (!fresh) join(at->second, part);
    }
    rest.clear();
    for (const auto& [key, row] : whole) rest.push_back(&row);
    account_.rows = {};
    pack(rest);
  }

  static MemoryRow& memory_row(Row& row, MemoryId memory) {
    if (row.memory.size() <= memory) row.memory.resize(std::size_t{memory} + 1);
    return row.memory[memory];
  }

  void close(Open& open, bool skipped) {
    Row& row = open.row->row;
    --open.row->open;
    const bool first = row.count == 0;
    if (first) row.again = open.again;
    if (first || !open.again) ++row.count;
    row.partial = row.partial || open.again;
    open.memory.resize(seen_); // a memory that was first used inside began at nothing
    for (std::size_t i = 0; i < seen_; ++i) {
      const auto id = static_cast<MemoryId>(i);
      MemoryRow& figures = memory_row(row, id);
      merge(figures.live, open.memory[i].live, ledger().level(id).live, first);
      merge(figures.tensor, open.memory[i].tensor, ledger().level(id).tensor, first);
      merge(figures.reserved, open.memory[i].reserved, reserved_[i], first);
      merge(figures.used, open.memory[i].used, used_[i], first);
    }
    row.skipped = row.skipped || skipped;
    if (!open.rss) return;
    if (!row.rss) {
      row.rss = open.rss;
      return;
    }
    row.rss->exit = open.rss->exit;
    if (open.rss->peak.sum() > row.rss->peak.sum()) row.rss->peak = open.rss->peak;
  }

  MemorySpan& span(Open& open, MemoryId memory) {
    if (open.memory.size() <= memory) open.memory.resize(std::size_t{memory} + 1);
    return open.memory[memory];
  }

  static void raise(Peak& peak, std::int64_t bytes, const trace::Event& event, const Place& place) {
    if (bytes > peak.bytes) peak = {bytes, event.ordinal, event.stamp, place.path, place.step, {}};
  }

  void levels(const trace::Event& event, const Place& place) {
    if (event.type != EventType::birth && event.type != EventType::counters && event.type != EventType::move &&
        event.type != EventType::protect)
      return;
    const auto memory = event.type == EventType::birth
                            ? static_cast<MemoryId>(event.flags >> format::kMemoryShift)
                            : MemoryId{0};
    see(memory);
    const Level& level = ledger().level(memory);
    for (Open& open : open_) {
      MemorySpan& figures = span(open, memory);
      figures.live.raise(level.live, event.ordinal);
      figures.tensor.raise(level.tensor, event.ordinal);
    }
    MemoryPeaks& peaks = account_.peaks[memory];
    raise(peaks.live, level.live, event, place);
    raise(peaks.tensor, level.tensor, event, place);
    account_.tensors = account_.tensors || level.tensor != 0;
  }

  void reserved(const trace::Event& event, const Place& place) {
    const auto memory = static_cast<MemoryId>(event.flags >> format::kMemoryShift);
    see(memory);
    const auto bytes = static_cast<std::int64_t>(event.word[1]);
    reserved_[memory] = bytes;
    if (memory == 0) pinned_idle_ = event.word[1] > event.word[0] ? event.word[1] - event.word[0] : 0;
    for (Open& open : open_) span(open, memory).reserved.raise(bytes, event.ordinal);
    auto& peak = account_.peaks[memory].reserved;
    if (!peak) peak.emplace();
    raise(*peak, bytes, event, place);
  }

  // What the card shows for this process; where it does not know it by its pid, for all of them.
  void used(const trace::Event& event, const Place& place) {
    const auto memory = static_cast<MemoryId>(event.flags >> format::kMemoryShift);
    if (memory == 0) return;
    const auto bytes = cards_[memory].look(event, ledger().level(memory), place);
    if (!bytes) return;
    see(memory);
    used_[memory] = *bytes;
    for (Open& open : open_) span(open, memory).used.raise(*bytes, event.ordinal);
    account_.cards[memory] = cards_[memory].most();
    account_.peaks[memory];
  }

  void sample(const trace::Event& event, const Place& place) {
    const Resident now{event.word[0], event.word[1], event.word[2]};
    for (Open& open : open_) {
      if (!open.rss) open.rss = ResidentSpan{now, now, now};
      open.rss->exit = now;
      if (now.sum() > open.rss->peak.sum()) open.rss->peak = now;
    }
    if (!account_.rss) account_.rss.emplace();
    // Programs may reset VmHWM: the highest ever read counts.
    raise(*account_.rss, static_cast<std::int64_t>(std::max(event.word[3], now.sum())), event, place);
  }

  Account account_;
  static constexpr std::size_t kGrowing = 64;
  std::map<std::pair<PathId, Step>, Growing> growing_;
  std::size_t most_growing_ = kGrowing;
  Growing* recent_ = nullptr; // the row that was asked for last
  std::uint64_t rows_begun_ = 0;
  std::unordered_map<PathId, Step> last_packed_;
  bool parts_ = false; // a row was packed in more than one part
  std::vector<Open> open_;
  std::vector<Flow> pending_;
  std::vector<std::int64_t> reserved_;
  std::uint64_t pinned_idle_ = 0;
  std::vector<std::int64_t> used_;
  std::map<MemoryId, Card> cards_;
  std::size_t seen_ = 0;      // memories
  Step from_{0};              // the first step that is whole since the last cut
  Step updated_ = Step::none; // the step whose update ended with this event
  trace::Ordinal now_ = 0;
};

} // namespace

bool Account::whole(Step step) const {
  if (step == Step::none) return detail.size() == 1;
  return std::any_of(detail.begin(), detail.end(),
                     [step](const StepSpan& span) { return span.first <= step && step <= span.last; });
}

Account account(const trace::Trace& trace) {
  Replay replay(trace);
  Attribution attribution;
  const trace::OrderCounts counts = replay.run(attribution);
  attribution.result().counts = counts;
  return std::move(attribution).take();
}

} // namespace memtrace::fold
