// Purpose: the events of a merge, batch by batch, which a second thread may decode ahead.
#include "analyzer/trace/events_ahead.h"

#include <sched.h>

#include <system_error>
#include <utility>

namespace memtrace::trace {

EventsAhead::EventsAhead(const Streams& streams, const Beginning& beginning, Threads threads)
    : order_(streams, beginning), ring_(threads == Threads::two ? kBatches : 1), present_(&ring_.front()) {
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
  changed_.notify_all();
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
  changed_.notify_all();
}

void EventsAhead::decode_all() {
  for (std::uint64_t number = 0;; ++number) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stopped_ || number < taken_ + ring_.size(); });
      if (stopped_) return;
    }
    EventBatch& batch = ring_[number % ring_.size()];
    order_.next(batch.events);
    batch.records = order_.records();
    batch.held = count_.held;
    const bool last = batch.events.empty();
    {
      const std::lock_guard lock(mutex_);
      made_ = number + 1;
    }
    changed_.notify_all();
    if (last) return;
  }
}

std::span<const Event> EventsAhead::next() {
  if (!second_.joinable()) {
    order_.next(present_->events);
    present_->records = order_.records();
    return present_->events;
  }
  {
    std::unique_lock lock(mutex_);
    taken_ = given_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return over_ || made_ > given_; });
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
  cpu_set_t processors;
  const bool known = ::sched_getaffinity(0, sizeof processors, &processors) == 0;
  return known && CPU_COUNT(&processors) == 1 ? EventsAhead::Threads::one : EventsAhead::Threads::two;
}

} // namespace memtrace::trace
