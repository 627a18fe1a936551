// Purpose: the events of a merge, batch by batch, which a second thread may decode ahead.
#include "analyzer/trace/events_ahead.h"

#include <system_error>
#include <utility>

#include "analyzer/files/processors.h"

namespace memtrace::trace {

namespace {

constexpr std::size_t kLargestCopy = 4 << 20; // bytes: some ten threads in the middle of segments

} // namespace

EventsAhead::EventsAhead(Order order, Threads threads, const CopyStride* copies)
    : order_(std::move(order)),
      copies_(copies),
      copied_(order_.records()),
      ring_(threads == Threads::two ? kBatches : 1),
      present_(&ring_.front()) {
  if (threads == Threads::one) return;
  count_ = files::Budget::of_command().second();
  try {
    second_ = std::thread([this] { decode_ahead(); });
  } catch (const std::system_error&) { // a limit on the number of threads: next() decodes
  }
}

EventsAhead::~EventsAhead() {
  stop();
}

void EventsAhead::stop() {
  if (!second_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  emptied_.notify_all();
  second_.join();
  files::Budget::of_command().joined(count_);
}

void EventsAhead::decode_ahead() {
  files::Budget::count_in(count_);
  std::exception_ptr failed;
  try {
    decode_all();
  } catch (...) {
    failed = std::current_exception();
  }
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
    failed_ = std::move(failed);
  }
  filled_.notify_all();
}

void EventsAhead::make(EventBatch& batch) {
  order_.next(batch.events);
  batch.records = order_.records();
  batch.copy.reset();
  if (copies_ == nullptr || batch.events.empty()) return;
  const std::uint64_t stride = copies_->load(std::memory_order_relaxed);
  if (stride == 0 || batch.records < copied_ + stride || order_.bytes() > kLargestCopy) return;
  copied_ = batch.records;
  batch.copy = std::make_unique<Order>(order_);
}

void EventsAhead::decode_all() {
  for (std::uint64_t number = 0;; ++number) {
    {
      std::unique_lock lock(mutex_);
      if (number == taken_ + ring_.size())
        emptied_.wait(lock, [&] { return stopped_ || number + kTogether <= taken_ + ring_.size(); });
      if (stopped_) return;
    }
    EventBatch& batch = ring_[number % ring_.size()];
    make(batch);
    batch.held = count_.held;
    if (batch.events.empty()) {
      const std::lock_guard lock(mutex_);
      made_ = number + 1;
      return; // decode_ahead() wakes the other thread
    }
    bool enough = false;
    {
      const std::lock_guard lock(mutex_);
      made_ = number + 1;
      enough = made_ == taken_ + kTogether;
    }
    if (enough) filled_.notify_one();
  }
}

std::span<const Event> EventsAhead::next() {
  if (!second_.joinable()) {
    make(*present_);
    return present_->events;
  }
  {
    std::unique_lock lock(mutex_);
    taken_ = given_;
    if (made_ + kTogether == taken_ + ring_.size()) emptied_.notify_one();
    if (made_ == given_) filled_.wait(lock, [&] { return over_ || made_ >= given_ + kTogether; });
    if (made_ == given_) {
      if (failed_ != nullptr) std::rethrow_exception(std::exchange(failed_, nullptr));
      return {};
    }
  }
  present_ = &ring_[given_++ % ring_.size()];
  files::Budget::of_command().beside(present_->held);
  return present_->events;
}

EventsAhead::Threads threads_for(std::uint64_t records) {
  constexpr std::uint64_t kWorthIt = 50'000; // below, a pass takes a few milliseconds
  if (records < kWorthIt) return EventsAhead::Threads::one;
  return files::has_spare_processor() ? EventsAhead::Threads::two : EventsAhead::Threads::one;
}

} // namespace memtrace::trace
