// Purpose: one line on a terminal while work takes long.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "analyzer/decode/progress.h"

namespace memtrace::cli {

// Rewrites its line some times a second and takes it away at the end. Silent where `descriptor` is no terminal,
// and as long as everything together takes less than `patience`.
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
  Clock::time_point next_; // when the line may be written
};

} // namespace memtrace::cli
