// Purpose: shows one line of progress on a terminal during long work.
#include "analyzer/cli/common/progress_meter.h"

#include <unistd.h>

#include <algorithm>

namespace memtrace::cli {
namespace {

constexpr std::chrono::milliseconds kBetween{100};
constexpr char kErase[] = "\r\033[K";

} // namespace

Meter::Meter(int descriptor, std::chrono::milliseconds patience)
    : descriptor_(descriptor), terminal_(::isatty(descriptor) != 0), next_(Clock::now() + patience) {}

void Meter::at(const char* what, std::uint64_t done, std::uint64_t all) {
  if (!terminal_) return;
  const std::lock_guard lock(mutex_);
  const Clock::time_point now = Clock::now();
  if (now < next_) return;
  next_ = now + kBetween;
  shown_ = true;
  if (only_subject_) return write(kErase + subject_);
  const double share = all == 0 ? 1 : std::min(1.0, static_cast<double>(done) / static_cast<double>(all));
  write(kErase + subject_ + (subject_.empty() ? "" : ", ") + what + ": " +
        std::to_string(static_cast<int>(share * 100)) + " %");
}

void Meter::on(std::string subject) {
  const std::lock_guard lock(mutex_);
  subject_ = std::move(subject);
}

void Meter::only_subject(bool only) {
  const std::lock_guard lock(mutex_);
  only_subject_ = only;
}

void Meter::clear() {
  const std::lock_guard lock(mutex_);
  if (shown_) write(kErase);
  shown_ = false;
}

// If the terminal does not accept the line, only the line is lost, not the report.
void Meter::write(const std::string& text) const {
  static_cast<void>(!::write(descriptor_, text.data(), text.size()));
}

} // namespace memtrace::cli
