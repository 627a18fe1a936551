// Purpose: shows one line of progress on a terminal during long work.
#pragma once

#include <chrono>
#include <cstddef>
#include <mutex>
#include <string>

#include "analyzer/decode/progress.h"

namespace memtrace::cli {

// Several threads may use it. Rewrites its line at most ten times a second and erases it at the end. Prints
// nothing if `descriptor` is not a terminal, or until `patience` has passed since its construction.
class Meter : public trace::Progress {
 public:
  explicit Meter(int descriptor, std::chrono::milliseconds patience = std::chrono::seconds(1));
  ~Meter() override { Meter::clear(); }
  Meter(const Meter&) = delete;
  Meter& operator=(const Meter&) = delete;

  void at(const char* what, std::uint64_t done, std::uint64_t all) override;
  void on(std::string subject) override;
  void clear() override;
  // Of work on several traces at the same time, only the subject is shown.
  void only_subject(bool only);

 private:
  using Clock = std::chrono::steady_clock;
  void write(const std::string& text) const;

  int descriptor_;
  bool terminal_;
  std::mutex mutex_; // guards what follows
  bool only_subject_ = false;
  bool shown_ = false;
  std::string subject_;
  Clock::time_point next_; // the earliest time of the next update
};

} // namespace memtrace::cli
