// Purpose: the events of a merge, batch by batch, which a second thread may decode ahead.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "analyzer/files/read_budget.h"
#include "analyzer/trace/event_merger.h"

namespace memtrace::trace {

// Some events that follow each other, and the state of the merge after them.
struct EventBatch {
  std::vector<Event> events;   // none after the last
  std::uint64_t records = 0;   // of the merge so far
  std::int64_t held = 0;       // bytes that the second thread held then
  std::unique_ptr<Order> copy; // of the merge after these events, where one is wanted
};

// How often a pass copies the state of its merge: every so many records. 0: never. The receiver of the copies
// may raise it at any time.
using CopyStride = std::atomic<std::uint64_t>;

// Decoding and merging take half of a pass, and do not depend on the replay. So a second thread does them, some
// batches ahead. Its batches are those that the merge gives alone, in the same order.
class EventsAhead {
 public:
  enum class Threads { one, two };

  // If no thread can be created, the calling thread decodes.
  EventsAhead(Order order, Threads threads, const CopyStride* copies = nullptr);
  // Stops the second thread, even if events are left.
  ~EventsAhead();
  EventsAhead(const EventsAhead&) = delete;
  EventsAhead& operator=(const EventsAhead&) = delete;

  // Returns the next events. Returns none after the last. Valid until the next call. Throws what the second
  // thread threw at this place.
  std::span<const Event> next();
  // Returns the state of the merge after these events, or null if it was not copied there.
  std::unique_ptr<Order> copy() { return std::move(present_->copy); }

  std::uint64_t records() const { return present_->records; } // of the events so far
  // Complete after next() has returned no events.
  OrderCounts counts() const { return order_.counts(); }
  Ordinal ordinal() const { return order_.ordinal(); }
  bool has_second_thread() const { return second_.joinable(); }

 private:
  static constexpr std::size_t kBatches = 16; // 0.75 MB, which fits the cache that two cores share
  // A thread that waits goes on when half of the batches are ready for it, so threads change rarely.
  static constexpr std::size_t kTogether = kBatches / 2;

  void make(EventBatch& batch);
  void decode_ahead();
  void decode_all();
  void stop();

  Order order_;              // of the second thread while there is one
  const CopyStride* copies_; // or null
  std::uint64_t copied_ = 0; // records of the merge at the last copy
  std::vector<EventBatch> ring_;
  EventBatch* present_;
  std::uint64_t given_ = 0; // batches that the caller got from the second thread
  std::mutex mutex_;        // guards what follows
  std::condition_variable filled_;
  std::condition_variable emptied_;
  std::uint64_t made_ = 0;  // batches
  std::uint64_t taken_ = 0; // batches that the caller is done with
  bool stopped_ = false;
  bool over_ = false;         // the last batch is made, or the second thread failed
  std::exception_ptr failed_; // after the batches that are made
  files::Budget::ThreadCount count_;
  std::thread second_;
};

// Returns two if a processor is free for the second thread, and if the work is worth a thread.
EventsAhead::Threads threads_for(std::uint64_t records);

} // namespace memtrace::trace
