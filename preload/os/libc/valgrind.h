// Purpose: what valgrind is asked and told, by its client requests. Elsewhere they are seven instructions that
// change nothing.
// Runs: on any thread.
#pragma once

#include <cstddef>

namespace memtrace::record {

// True if the process runs under valgrind. Before the first `find_valgrind` false.
[[gnu::visibility("hidden")]] extern constinit bool under_valgrind;
void find_valgrind();

// True if its tool may report errors: under valgrind, until it is known that malloc is not the tool's. Those
// that leave malloc alone count and time (callgrind, cachegrind), and would count the requests.
[[gnu::visibility("hidden")]] extern constinit bool judged;
void tool_leaves_malloc();

// The request numbers of valgrind.h and helgrind.h, which stay as they are.
inline constexpr unsigned long kValgrindRuns = 0x1001;
inline constexpr unsigned long kValgrindErrors = 0x1801; // 1 turns this thread's reports off, -1 on again

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

// Between the two the tool reports nothing of what this thread does. The recorder reads words in front of
// blocks and on stacks, and its atomic words are races to helgrind. They nest.
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

// helgrind and drd look for no races within these bytes, which are the recorder's own.
void exempt_from_races(const void* start, std::size_t bytes);

} // namespace memtrace::record
