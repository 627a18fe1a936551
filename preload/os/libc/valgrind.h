// Purpose: queries valgrind and sends it client requests. Without valgrind, a request is seven instructions
// without effect.
// Runs: on any thread.
#pragma once

#include <cstddef>

namespace memtrace::record {

// True if the process runs under valgrind. False before the first `find_valgrind`.
[[gnu::visibility("hidden")]] extern constinit bool under_valgrind;
void find_valgrind();

// True if the valgrind tool may report errors: under valgrind, until memtrace knows that the tool does not
// replace malloc. Tools that do not replace malloc count and time (callgrind, cachegrind), and would count the
// requests.
[[gnu::visibility("hidden")]] extern constinit bool judged;
void tool_leaves_malloc();

// The request numbers of valgrind.h and helgrind.h, which are stable.
inline constexpr unsigned long kValgrindRuns = 0x1001;
inline constexpr unsigned long kValgrindErrors = 0x1801; // 1 disables this thread's reports, -1 enables them

inline unsigned long ask_valgrind(unsigned long request, unsigned long a = 0, unsigned long b = 0) {
  const unsigned long arguments[6] = {request, a, b, 0, 0, 0};
  unsigned long answer = 0;
  asm volatile(
      "rolq $3, %%rdi\n\trolq $13, %%rdi\n\trolq $61, %%rdi\n\trolq $51, %%rdi\n\t"
      "xchgq %%rbx, %%rbx"
      : "+d"(answer)
      : "a"(arguments)
      : "cc", "memory");
  return answer;
}

// Between these two calls the tool reports no errors of this thread. The recorder reads words before blocks and
// on stacks, and helgrind takes its atomic words for races. The calls nest.
inline void be_unjudged() {
  if (judged) [[unlikely]]
    ask_valgrind(kValgrindErrors, 1);
}
inline void be_judged() {
  if (judged) [[unlikely]]
    ask_valgrind(kValgrindErrors, ~0ul);
}
class Unjudged {
 public:
  Unjudged() { be_unjudged(); }
  ~Unjudged() { be_judged(); }
  Unjudged(const Unjudged&) = delete;
  Unjudged& operator=(const Unjudged&) = delete;
};

// Makes helgrind and drd ignore races in these bytes, which belong to the recorder.
void exempt_from_races(const void* start, std::size_t bytes);

} // namespace memtrace::record
