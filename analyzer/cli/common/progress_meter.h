// Purpose: shows one line of progress on a terminal during long work.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "analyzer/decode/progress.h"

namespace memtrace::cli {

// Rewrites its line at most ten times a second and erases it at the end. Prints nothing if `descriptor` is not
// a terminal, or until `patience` has passed since its construction.
class Meter : public trace::Progress {
 public:
  explicit Meter(int descriptor, std::chrono::milliseconds patience = std::chrono::seconds(1));
  ~Meter() override { Meter::clear(); }
  Meter(const Meter&) = delete;
  Meter& operator=(const Meter&) = delete;

  void at(const char* what, std::uint64_t done, std::uint64_t all) override;
  void on(std::string subject) override { subject_ = std::move(subject); }
  void clear() override;

 private:
  using Clock = std::chrono::steady_clock;
  void write(const std::string& text) const;

  int descriptor_;
  bool terminal_;
  bool shown_ = false;
  std::string subject_;
  Clock::time_point next_; // the earliest time of the next update
};

} // namespace memtrace::cli
