// Purpose: stacks by the back end that is linked are those that libgcc finds, in frames made to deceive.
#include "preload/stack/native_unwinder.h"

#include <alloca.h>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unwind.h>

#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "preload/stack/loaded_modules.h"

namespace memtrace::record {
namespace {

using Addresses = std::vector<std::uint64_t>;
constexpr std::size_t kRoom = 512;

thread_local UnwindMemory walk{};
int compared = 0;

_Unwind_Reason_Code add(_Unwind_Context* context, void* out) {
  int before = 0;
  const std::uint64_t ip = _Unwind_GetIPInfo(context, &before);
  if (ip != 0) static_cast<Addresses*>(out)->push_back(ip + static_cast<unsigned>(before != 0));
  return _URC_NO_REASON;
}

// Both from the same frame. What they say of this one differs, for they are called from two places in it.
__attribute__((noinline)) void compare(std::size_t at_least = 5) {
  std::uint64_t ours[kRoom];
  const std::size_t count = unwind(ours, kRoom, Range{}, Range{}, 0, walk).count;
  Addresses theirs;
  _Unwind_Backtrace(&add, &theirs);
  ASSERT_GE(count, at_least);
  ASSERT_EQ(theirs.size(), count);
  for (std::size_t i = 1; i < count; ++i) ASSERT_EQ(ours[i], theirs[i]) << "frame " << i << " of " << count;
  ++compared;
}

class Unwinder : public testing::Test {
 protected:
  void SetUp() override {
    find_modules_by("");
    static const bool opened = open_unwinder();
    ASSERT_TRUE(opened) << "is libunwind.so.8 there?";
    compared = 0;
  }
};

volatile int sink;

__attribute__((noinline)) void recurse(int depth, void (*leaf)()) {
  volatile char frame[40];
  frame[0] = static_cast<char>(depth);
  if (depth == 0) {
    leaf();
  } else {
    recurse(depth - 1, leaf);
  }
  sink = frame[0];
}

TEST_F(Unwinder, Recursion) {
  for (int depth : {0, 1, 7, 100}) recurse(depth, [] { compare(); });
  EXPECT_EQ(compared, 4);
}

// A stack pointer that is the same for different callers, with the former's words left where a variable frame
// now lies.
__attribute__((noinline)) void variable(std::size_t bytes, void (*leaf)()) {
  auto* const room = static_cast<volatile char*>(alloca(bytes));
  room[0] = 1;
  leaf();
  sink = room[0];
}
__attribute__((noinline)) void one_caller(std::size_t bytes) {
  variable(bytes, [] { compare(); });
  sink = 1;
}
__attribute__((noinline)) void other_caller(std::size_t bytes) {
  auto* const more = static_cast<volatile char*>(alloca(bytes / 3)); // found by the rbp that `variable` saved
  more[0] = 0;
  variable(bytes - bytes / 3, [] { compare(); });
  sink = more[0];
}
TEST_F(Unwinder, FramesOfChangingSize) {
  for (std::size_t bytes = 112; bytes < 6000; bytes += 48) {
    one_caller(bytes);
    other_caller(bytes);
  }
  EXPECT_EQ(compared, 2 * 123);
}

// An aligned object beside an alloca: the CFA is in a word of the frame.
__attribute__((noinline)) void aligned(std::size_t bytes, void (*leaf)()) {
  alignas(64) volatile char object[64];
  auto* const room = static_cast<volatile char*>(alloca(bytes));
  object[0] = 1;
  room[0] = 1;
  leaf();
  sink = object[0] + room[0];
}
__attribute__((noinline)) void shifted(std::size_t by, std::size_t bytes) {
  auto* const room = static_cast<volatile char*>(alloca(by));
  room[0] = 1;
  aligned(bytes, [] { compare(); });
  sink = room[0];
}
TEST_F(Unwinder, FramesThatAlignTheStack) {
  for (std::size_t by = 16; by < 160; by += 16)
    for (std::size_t bytes = 8; bytes < 200; bytes += 24) shifted(by, bytes);
  EXPECT_EQ(compared, 72);
}

TEST_F(Unwinder, BackThroughLibraries) {
  int numbers[] = {3, 1, 2};
  const auto order = [](const void* a, const void* b) {
    compare();
    return *static_cast<const int*>(a) - *static_cast<const int*>(b);
  };
  std::qsort(numbers, 3, sizeof *numbers, order);
  EXPECT_GE(compared, 2);
}

jmp_buf back;
__attribute__((noinline)) void jump_from(int depth) {
  if (setjmp(back) == 0) recurse(depth, [] { longjmp(back, 1); });
  compare();
}
TEST_F(Unwinder, AfterLongjmp) {
  for (int depth = 1; depth < 20; ++depth) {
    jump_from(depth);
    recurse(20 - depth, [] { compare(); });
  }
  EXPECT_EQ(compared, 38);
}

TEST_F(Unwinder, SignalOnItsOwnStack) {
  static char room[64 * 1024];
  stack_t stack{};
  stack.ss_sp = room;
  stack.ss_size = sizeof room;
  ASSERT_EQ(sigaltstack(&stack, nullptr), 0);
  struct sigaction action {};
  action.sa_handler = [](int) { compare(8); };
  for (const int flags : {0, SA_ONSTACK, SA_ONSTACK}) {
    action.sa_flags = flags;
    ASSERT_EQ(sigaction(SIGUSR1, &action, nullptr), 0);
    recurse(3, [] {
      ::raise(SIGUSR1);
      compare();
    });
  }
  EXPECT_EQ(compared, 6);
  stack.ss_flags = SS_DISABLE;
  sigaltstack(&stack, nullptr);
}

// Stacks that come and go at one address, with nothing behind them.
ucontext_t here, there;
void on_other_stack() {
  recurse(5, [] { compare(); });
}
// A function of its own: swapcontext() returns twice, and a loop's variable would have to be volatile.
void compare_on_other_stack(void* at, std::size_t bytes) {
  void* const room = mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(room, MAP_FAILED);
  getcontext(&there);
  there.uc_stack.ss_sp = room;
  there.uc_stack.ss_size = bytes;
  there.uc_link = &here;
  makecontext(&there, &on_other_stack, 0);
  swapcontext(&here, &there);
  munmap(room, bytes);
}
TEST_F(Unwinder, OtherStacks) {
  for (int round = 0; round < 20; ++round) {
    void* const last = round == 0 ? nullptr : there.uc_stack.ss_sp;
    compare_on_other_stack(last, round % 2 == 0 ? 64 * 1024 : 16 * 1024);
    compare();
  }
  EXPECT_EQ(compared, 40);
}

TEST_F(Unwinder, Threads) {
  for (int i = 0; i < 10; ++i) std::thread([i] { recurse(i, [] { compare(); }); }).join();
  EXPECT_EQ(compared, 10);
}

TEST_F(Unwinder, SkipsAndStops) {
  std::uint64_t all[kRoom], some[kRoom];
  const std::size_t count = unwind(all, kRoom, Range{}, Range{}, 0, walk).count;
  ASSERT_GT(count, 4u);
  EXPECT_EQ(unwind(some, 3, Range{}, Range{}, 0, walk).count, 3u);
  EXPECT_EQ(some[2], all[2]);
  EXPECT_EQ(unwind(some, kRoom, {all[2], all[2] + 1}, Range{}, 0, walk).count, count - 1);
  EXPECT_EQ(some[2], all[3]);
  EXPECT_EQ(unwind(some, kRoom, Range{}, {all[3], all[3] + 1}, 0, walk).count, 3u);
}

// A frame pointer that leads nowhere: the walk ends, and does not read there.
__attribute__((noinline)) void with_frame_pointer(std::uint64_t wild) {
  auto* const saved = static_cast<volatile std::uint64_t*>(__builtin_frame_address(0));
  volatile char* const room = static_cast<volatile char*>(alloca(wild % 64 + 16));
  room[0] = 1;
  const std::uint64_t before = *saved;
  *saved = wild; // the caller's, which is a frame by rbp itself
  std::uint64_t out[kRoom];
  const std::size_t count = unwind(out, kRoom, Range{}, Range{}, 0, walk).count;
  *saved = before;
  EXPECT_GE(count, 1u);
  sink = room[0];
}
__attribute__((noinline)) void outer_of_wild(std::uint64_t wild) {
  volatile char* const room = static_cast<volatile char*>(alloca(wild % 32 + 16));
  room[0] = 1;
  with_frame_pointer(wild);
  sink = room[0];
}
TEST_F(Unwinder, WildFramePointers) {
  const auto near = reinterpret_cast<std::uint64_t>(__builtin_frame_address(0));
  for (const std::uint64_t wild : {std::uint64_t{0}, std::uint64_t{8}, ~std::uint64_t{7}, near + (1 << 22),
                                   near + (std::uint64_t{1} << 40), near - 4096, std::uint64_t{1} << 63})
    outer_of_wild(wild);
}

// A library that a stack has named is gone: what is known of addresses is dropped.
TEST_F(Unwinder, AfterAnUnload) {
  recurse(7, [] { compare(); });
  void* const library = dlopen("libresolv.so.2", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) GTEST_SKIP() << "there is no libresolv.so.2";
  bool added = false;
  const auto name = [](const char*, std::size_t) { return format::TextId{1}; };
  ASSERT_NE(find_module(static_cast<const link_map*>(library)->l_addr, &added, name), 0u);
  dlclose(library);
  code_was_unloaded();
  for (int depth : {7, 1, 100}) recurse(depth, [] { compare(); });
  EXPECT_EQ(compared, 4);
}

} // namespace
} // namespace memtrace::record
