// Purpose: the phase and step of each thread, by the rules of analyzer/replay/phase_tracker.h, and the levels
// that each open phase has seen.
// Runs: in the drain and, when its ring is full, on the program's thread.
#include "preload/rollup/open_phases.h"

#include "preload/format/phase_events.h"

namespace memtrace::rollup {

using format::Figure;
using format::RingRecord;

namespace {

constexpr unsigned bit(CountedPhase known) {
  return 1u << static_cast<unsigned>(known);
}

void raise(MeasureLevels& span, std::int64_t level) {
  if (level > span.peak) span.peak = level;
}

// Adds one more occurrence to a row. `at`: the first of its five figures.
void merge(std::int64_t* at, const MeasureLevels& span, std::int64_t exit, bool first) {
  const std::int64_t around = span.entry > exit ? span.entry : exit;
  const std::int64_t transient = span.peak - around;
  if (first) at[0] = span.entry;
  at[1] = exit;
  if (first || span.peak > at[2]) at[2] = span.peak;
  if (first || transient > at[3]) at[3] = transient;
  at[4] += exit - span.entry;
}

} // namespace

std::uint32_t OpenPhases::top_of(std::uint32_t thread) const {
  for (std::uint32_t i = recent_used_; i-- > 0;)
    if (recent_.at[i].thread == thread) return recent_.at[i].top;
  return 0;
}

PhasePlace OpenPhases::place(std::uint32_t thread) const {
  if (recent_used_ == 0) return {0, step_};
  const std::uint32_t own = top_of(thread);
  return frame(own != 0 ? own : recent_.at[recent_used_ - 1].top).place;
}

// Makes `thread` the thread whose phase counts for the process. Forgets the thread if it is not in a phase.
void OpenPhases::touch(const Host& host, std::uint32_t thread, std::uint32_t top) {
  std::uint32_t i = recent_used_;
  while (i > 0 && recent_.at[i - 1].thread != thread) --i;
  if (i != 0) {
    --recent_used_;
    std::memmove(recent_.at + i - 1, recent_.at + i, (recent_used_ - (i - 1)) * sizeof(Recent));
  }
  if (top == 0) return;
  if (recent_used_ == recent_.capacity && !recent_.grow(host, 64, kFrames)) {
    // Without an entry in the list, nothing would ever end these phases.
    for (; top != 0; top = frame(top).below) frame(top).used = false;
    return;
  }
  recent_.at[recent_used_++] = {thread, top};
}

// Returns the index of a free frame + 1; 0: there is no room. The frame has the members of its last use, except
// that its spans of memories that no block has are 0: nothing writes them.
std::uint32_t OpenPhases::fresh(const Host& host) {
  std::uint32_t i = 0;
  while (i < frames_end_ && frames_.at[i].used) ++i;
  if (i == frames_.capacity && !frames_.grow(host, 32, kFrames)) return 0;
  if (i == frames_end_) ++frames_end_;
  return i + 1;
}

bool OpenPhases::holds(std::uint32_t top, unsigned any) const {
  for (; top != 0; top = frame(top).below)
    if (bit(frame(top).own) & any) return true;
  return false;
}

// Adds the highest levels since the last call to every phase that was open meanwhile.
void OpenPhases::gather(Ledger& ledger) {
  const unsigned seen = ledger.seen();
  for (std::uint32_t i = 0; i < frames_end_; ++i) {
    PhaseFrame& open = frames_.at[i];
    if (!open.used) continue;
    for (unsigned memory = 0; memory < seen; ++memory)
      for (unsigned measure = 0; measure < kMeasures; ++measure)
        raise(open.spans[memory][measure], ledger.highs()[memory][measure]);
  }
  ledger.reset_high_water();
}

// Undoes the steps later than `most`: they were counted by a wrong rule.
void OpenPhases::recount(StepId most, Ledger& ledger) {
  if (step_ <= most) return;
  step_ = most;
  stepped_ = false;
  if (first_update_ > most) first_update_ = kNoStep;
  for (std::uint32_t i = 0; i < frames_end_; ++i)
    if (frames_.at[i].used && frames_.at[i].place.step > most) frames_.at[i].place.step = most;
  ledger.each([most](LedgerBlock& block) {
    if (block.step > most) block.step = most;
  });
  ledger.rows().limit(most);
}

void OpenPhases::learn(std::uint16_t flags, CountedPhase own, Ledger& ledger) {
  if ((flags & format::kAuto) != 0 && !saw_auto_) {
    saw_auto_ = true;
    if (!saw_record_) recount(kNoStep, ledger);
    stepped_ = false;
    first_update_ = kNoStep;
    for (std::uint32_t i = 0; i < frames_end_; ++i) frames_.at[i].counts = false;
  }
  if (own == CountedPhase::step && !saw_step_) {
    saw_step_ = true;
    if (!saw_record_) recount(step_of(0), ledger);
  }
}

// Counts the next step if `beginning` starts it: the first forward or backward after an optimizer's step
// returned. If the optimizer's step contains them, in its closure, the optimizer's step starts it.
void OpenPhases::advance(std::uint32_t top, const PhaseFrame& beginning, std::uint16_t flags) {
  if (saw_record_ || !beginning.counts) return;
  const bool forward =
      beginning.own == CountedPhase::forward && (flags & format::kGradOff) == 0 &&
      !holds(top, bit(CountedPhase::forward) | bit(CountedPhase::recompute) | bit(CountedPhase::backward) |
                      bit(CountedPhase::step) | bit(CountedPhase::eval));
  const bool backward = beginning.own == CountedPhase::backward &&
                        !holds(top, bit(CountedPhase::backward) | bit(CountedPhase::step));
  if (!forward && !backward && beginning.own != CountedPhase::step) return;
  const bool update = beginning.own == CountedPhase::step &&
                      ((flags & format::kClosure) == 0 || holds(top, bit(CountedPhase::step)));
  if (step_ == kNoStep) {
    step_ = step_of(0);
  } else if (!update && (stepped_ || (!saw_step_ && forward))) {
    if (step_ + 1 != 0) ++step_;
  } else {
    return;
  }
  stepped_ = false;
}

void OpenPhases::begin(const Host& host, std::uint32_t thread, const RingRecord& record, Ledger& ledger) {
  gather(ledger);
  const std::uint32_t around = top_of(thread);
  const std::uint32_t depth = around == 0 ? 0 : frame(around).depth + 1;
  if (depth >= kDeepest) return;
  const format::TextId name = record.as<format::PhaseBeginEvent>().name;
  const PathIndex parent = around == 0 ? PathIndex{0} : frame(around).place.path;
  const PathIndex path = paths_.below(host, parent, name);
  const CountedPhase own = path == parent ? CountedPhase::none : paths_.known(path);
  learn(record.flags, own, ledger);
  const std::uint32_t top = fresh(host);
  if (top == 0) return;
  PhaseFrame& open = frame(top);
  open.used = true;
  open.has_resident = false;
  open.own = own;
  open.counts = (record.flags & format::kAuto) != 0 || !saw_auto_;
  advance(around, open, record.flags);
  open.flags = record.flags;
  open.thread = thread;
  open.below = around;
  open.depth = depth;
  open.name = name;
  open.begin = record.stamp;
  open.place = {path, step_};
  for (unsigned memory = 0; memory < ledger.seen(); ++memory) {
    for (unsigned measure = 0; measure < kMeasures; ++measure) {
      const std::int64_t level = ledger.levels()[memory][measure];
      open.spans[memory][measure] = {level, level};
    }
  }
  if (OpenRow* const row = ledger.rows().row(host, open.place, 0); row != nullptr) ++row->open;
  touch(host, thread, top);
}

void OpenPhases::end(const Host& host, std::uint32_t thread, const RingRecord& record, Ledger& ledger) {
  const format::TextId wanted = record.as<format::PhaseEndEvent>().name;
  std::uint32_t top = top_of(thread);
  std::uint32_t hit = top;
  while (hit != 0 && frame(hit).name != wanted) hit = frame(hit).below;
  if (hit == 0) return; // its begin was lost
  gather(ledger);
  while (top != hit) pop(host, &top, false, ledger); // left open by an exception
  pop(host, &top, (record.flags & format::kSkipped) != 0, ledger);
  touch(host, thread, top);
}

void OpenPhases::pop(const Host& host, std::uint32_t* top, bool skipped, Ledger& ledger) {
  PhaseFrame& open = frame(*top);
  open.used = false;
  *top = open.below;
  if (open.own == CountedPhase::step && open.counts && !holds(*top, bit(CountedPhase::step))) {
    stepped_ = true;
    if (!skipped && first_update_ == kNoStep) first_update_ = step_;
  }
  account(host, open, skipped, ledger);
  while (frames_end_ != 0 && !frames_.at[frames_end_ - 1].used) --frames_end_;
}

void OpenPhases::account(const Host& host, const PhaseFrame& ended, bool skipped, Ledger& ledger) {
  for (unsigned memory = 0; memory < ledger.seen(); ++memory) {
    OpenRow* const row = ledger.rows().row(host, ended.place, static_cast<std::uint8_t>(memory));
    if (row == nullptr) continue;
    const bool first = row->ended++ == 0;
    if (row->open != 0) --row->open;
    row->skipped = row->skipped || skipped;
    for (unsigned measure = 0; measure < kMeasures; ++measure)
      merge(&row->figure[5 * measure], ended.spans[memory][measure], ledger.levels()[memory][measure], first);
    (*row)[Figure::count] = static_cast<std::int64_t>(row->ended);
  }
  if (!ended.has_resident) return;
  OpenRow* const row = ledger.rows().row(host, ended.place, format::kResident);
  if (row == nullptr) return;
  const bool first = row->ended++ == 0;
  std::int64_t* const at = row->figure; // entry, exit, peak: three parts each
  const bool higher = ended.resident[2].sum() > at[6] + at[7] + at[8];
  for (unsigned part = 0; part < 3; ++part) {
    if (first) at[part] = ended.resident[0].part[part];
    at[3 + part] = ended.resident[1].part[part];
    if (first || higher) at[6 + part] = ended.resident[2].part[part];
  }
  (*row)[Figure::count] = static_cast<std::int64_t>(row->ended);
}

void OpenPhases::step(std::uint64_t number, Ledger& ledger) {
  if (!saw_record_) recount(kNoStep, ledger);
  saw_record_ = true;
  step_ = step_of(number & ~(std::uint64_t{1} << 63));
}

void OpenPhases::close(const Host& host, Ledger& ledger) {
  gather(ledger);
  for (PhaseFrame* open = oldest(); open != nullptr;
       open = oldest()) { // a row's entry is that of its first occurrence
    account(host, *open, false, ledger);
    open->used = false;
  }
  frames_end_ = recent_used_ = 0;
}

PhaseFrame* OpenPhases::oldest() {
  PhaseFrame* found = nullptr;
  for (std::uint32_t i = 0; i < frames_end_; ++i) {
    PhaseFrame& open = frames_.at[i];
    if (open.used && (found == nullptr || open.begin < found->begin)) found = &open;
  }
  return found;
}

void OpenPhases::reset(const Host& host, Ledger& ledger) {
  close(host, ledger);
  step_ = first_update_ = kNoStep;
  stepped_ = false;
}

void OpenPhases::sample(const ResidentParts& now) {
  for (std::uint32_t i = 0; i < frames_end_; ++i) {
    PhaseFrame& open = frames_.at[i];
    if (!open.used) continue;
    if (!open.has_resident) open.resident[0] = open.resident[1] = open.resident[2] = now;
    open.has_resident = true;
    open.resident[1] = now;
    if (now.sum() > open.resident[2].sum()) open.resident[2] = now;
  }
}

} // namespace memtrace::rollup
