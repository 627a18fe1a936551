// Purpose: the terminal of `memtrace top`: shows lines, gives keys, and is as before when it closes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "analyzer/cli/top/screen_line.h"

namespace memtrace::cli {

enum class Key : std::uint8_t {
  none,
  quit,
  up,
  down,
  sort,
  memory,
  pause,
  refresh,
  help,
  resize,
  stopped,
  other
};

class Terminal {
 public:
  // Returns null with the reason in `why` if the terminal cannot be used, or if this build has no ncurses.
  static std::unique_ptr<Terminal> open(std::string& why);
  virtual ~Terminal() = default;

  virtual std::size_t columns() const = 0;
  virtual std::size_t rows() const = 0;
  virtual void draw(const std::vector<ScreenLine>& lines) = 0;
  // Waits for a key, at most so many seconds. Returns `none` if there was none, `stopped` if a signal asks the
  // program to end: signal() is its number.
  virtual Key wait(double seconds) = 0;
  virtual int signal() const = 0;
};

// True if the locale of the environment has UTF-8. Sets the locale for characters.
bool use_locale();

} // namespace memtrace::cli
