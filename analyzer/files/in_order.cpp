// Purpose: works on several files at the same time, and takes the results in the order of the files.
#include "analyzer/files/in_order.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "analyzer/files/processors.h"
#include "analyzer/files/read_budget.h"
#include "analyzer/files/warning.h"

namespace memtrace::files {
namespace {

struct Done {
  Budget::TraceBudget part;
  std::vector<std::string> warnings;
  std::exception_ptr failed;
};

// `own`: the count of a worker thread. On the thread of the command it is null, because that has its count
// already.
void work(const std::function<void(std::size_t)>& make, std::size_t number, Done& done,
          Budget::ThreadCount* own) {
  Budget::count_in(&done.part);
  const KeptWarnings keeping(done.warnings);
  try {
    make(number);
  } catch (...) {
    done.failed = std::current_exception();
  }
  Budget::count_in(static_cast<Budget::TraceBudget*>(nullptr));
  if (own != nullptr) Budget::count_in(*own);
}

void finish(Done& done, const std::function<void(std::size_t)>& take, std::size_t number) {
  for (const std::string& line : done.warnings) warn(line);
  Budget::of_command().joined(done.part);
  if (done.failed != nullptr) std::rethrow_exception(done.failed);
  take(number);
}

class Workers {
 public:
  Workers(std::size_t count, std::size_t threads, const std::function<void(std::size_t)>& make)
      : count_(count), make_(make), done_(std::min(count, 2 * threads)), left_(Budget::of_command().second()) {
    try {
      for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { run(); });
    } catch (const std::system_error&) { // a limit on the number of threads
    }
  }
  ~Workers() {
    {
      const std::lock_guard lock(mutex_);
      next_ = count_;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  bool has_threads() const { return !threads_.empty(); }

  // Returns the next result, in order. Call taken() when its slot may be used again.
  Done& wait(std::size_t number) {
    Slot& slot = done_[number % done_.size()];
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return slot.over; });
    return slot.done;
  }
  void taken(std::size_t number) {
    {
      const std::lock_guard lock(mutex_);
      done_[number % done_.size()] = {};
      taken_ = number + 1;
    }
    changed_.notify_all();
  }

 private:
  struct Slot {
    Done done;
    bool over = false;
  };

  void run() {
    // What a thread takes and frees beside its traces, also when it ends. Two threads would write one count.
    static constinit thread_local Budget::ThreadCount own{0, 0, Budget::kBytes, 0, Budget::kLooks};
    Budget::count_in(own);
    for (;;) {
      std::size_t number = 0;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return next_ >= count_ || next_ < taken_ + done_.size(); });
        if (next_ >= count_) return;
        number = next_++;
      }
      Slot& slot = done_[number % done_.size()];
      slot.done.part.count = left_;
      {
        const BusyThread busy;
        work(make_, number, slot.done, &own);
      }
      {
        const std::lock_guard lock(mutex_);
        slot.over = true;
      }
      changed_.notify_all();
    }
  }

  const std::size_t count_;
  const std::function<void(std::size_t)>& make_;
  std::vector<Slot> done_; // of the results from `taken_` on, by their number modulo its size
  const Budget::ThreadCount left_;
  std::mutex mutex_; // guards what follows, and `over` in `done_`
  std::condition_variable changed_;
  std::size_t next_ = 0;  // the first that no thread has begun
  std::size_t taken_ = 0; // the first that the caller has not taken
  std::vector<std::thread> threads_;
};

} // namespace

void run_in_order(std::size_t count, const std::function<void(std::size_t)>& make,
                  const std::function<void(std::size_t)>& take) {
  const std::size_t threads = std::min(jobs(), count);
  if (threads > 1) {
    Workers workers(count, threads, make);
    for (std::size_t i = 0; i < count && workers.has_threads(); ++i) {
      finish(workers.wait(i), take, i);
      workers.taken(i);
    }
    if (workers.has_threads()) return;
  }
  const Budget::ThreadCount left = Budget::of_command().second();
  for (std::size_t i = 0; i < count; ++i) {
    Done done;
    done.part.count = left;
    work(make, i, done, nullptr);
    finish(done, take, i);
  }
}

} // namespace memtrace::files
