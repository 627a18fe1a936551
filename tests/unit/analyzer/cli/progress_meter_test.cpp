// Purpose: progress shows on a terminal when work takes long, goes away, and shows nowhere else.
#include "analyzer/cli/common/progress_meter.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <unistd.h>

namespace memtrace::cli {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

std::string all_of(int descriptor) {
  EXPECT_EQ(::fcntl(descriptor, F_SETFL, O_NONBLOCK), 0);
  std::string text;
  char bytes[4096];
  for (ssize_t got = 0; (got = ::read(descriptor, bytes, sizeof bytes)) > 0;)
    text.append(bytes, static_cast<std::size_t>(got));
  return text;
}

class Terminal {
 public:
  Terminal() { EXPECT_EQ(::openpty(&outside_, &inside_, nullptr, nullptr, nullptr), 0); }
  ~Terminal() { ::close(inside_), ::close(outside_); }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  int inside() const { return inside_; }
  std::string seen() const { return all_of(outside_); }

 private:
  int outside_ = -1;
  int inside_ = -1;
};

TEST(Meter, RewritesOneLineOfATerminalAndTakesItAway) {
  const Terminal terminal;
  {
    Meter meter(terminal.inside(), milliseconds(0));
    meter.on("trace 2 of 3");
    meter.at("checking", 43, 100);
    EXPECT_EQ(terminal.seen(), "\r\033[Ktrace 2 of 3, checking: 43 %");
    meter.at("checking", 44, 100);
    EXPECT_EQ(terminal.seen(), ""); // not as often as it is told
  }
  EXPECT_EQ(terminal.seen(), "\r\033[K");
}

TEST(Meter, IsSilentWhileWorkIsShort) {
  const Terminal terminal;
  {
    Meter meter(terminal.inside(), hours(1));
    meter.at("checking", 43, 100);
  }
  EXPECT_EQ(terminal.seen(), "");
}

TEST(Meter, IsSilentWhereThereIsNoTerminal) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  {
    Meter meter(ends[1], milliseconds(0));
    meter.at("checking", 43, 100);
  }
  EXPECT_EQ(all_of(ends[0]), "");
  ::close(ends[0]), ::close(ends[1]);
}

} // namespace
} // namespace memtrace::cli
