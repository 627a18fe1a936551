// Purpose: allocates and frees with many threads; the true level is in a shared page that survives a kill.
//
// usage: stress PAGE [--threads N] [--way hold|churn] [--as main|exec|fork] [--sizes mixed|large|narrow|tiny]
//               [--operations N] [--held BYTES] [--seed N] [--stay 1] [--touch 1] [--meet SECONDS] [--meetings
//               N]
// PAGE is a file of at least sizeof(Truth) bytes. `hold`: all threads allocate, meet, and free half. `churn`:
// they allocate, resize, free and exchange blocks without end, or `--operations` times each.
//
// The recorder's level is always between two counters. `surely` counts a birth after the allocator returned and
// a death before the call. `perhaps` counts a birth before the call and a death after it. The recorder stamps
// in between, so a kill cannot separate the counters from the records. Their difference is the bytes in flight.
#include <fcntl.h>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include <pthread.h>

#include "preload/api/memtrace.h"

namespace {

constexpr std::size_t kPage = 4096;
constexpr long kMostThreads = 512;
constexpr std::size_t kStack = 64 * 1024;
constexpr std::size_t kSlots = 64;
constexpr std::size_t kHanded = 256;
constexpr std::size_t kClasses = 48;
constexpr long kMostMeetings = 256;

using Level = std::atomic<std::int64_t>;

// tests/end_to_end/support/stress.py reads this struct and knows the order of its words.
struct Truth {
  Level pid, ready, done;
  Level surely, perhaps, surely_peak, perhaps_peak;
  Level births_begun, births, deaths_begun, deaths;
  Level threads_begun, threads;
  Level held, left;          // of `hold`: the level when all threads met, and when half was freed
  Level births_of[kClasses]; // by the logarithm of the usable size
  Level meetings;            // of `churn` with --meet: how often all threads have met
  Level at_meeting[kMostMeetings];
};
static_assert(sizeof(Truth) <= kPage);

struct Options {
  long threads = 1;
  bool churn = false;
  char sizes = 'm';
  bool touch = false;
  bool stay = false; // of `hold`: when all threads hold their blocks, wait for the kill
  char as = 'm';
  long operations = -1;
  double meet = 0;
  long meetings = 0;
  std::int64_t held = 256 << 20;
  std::uint64_t seed = 1;
} options;

struct Block {
  char* at = nullptr;
  std::size_t bytes = 0; // as the recorder counts it: the usable size, or whole pages
  bool mapped = false;
};

Truth* truth;
std::atomic<Block*> handed[kHanded];
pthread_barrier_t meeting;
// static, so the stacks do not need mappings that would have to be counted
alignas(kPage) char stacks[kMostThreads][kStack];

void raise_to(Level& peak, std::int64_t level) {
  std::int64_t known = peak.load();
  while (known < level && !peak.compare_exchange_weak(known, level)) {
  }
}
void surely(std::int64_t more) {
  raise_to(truth->surely_peak, truth->surely.fetch_add(more) + more);
}
void perhaps(std::int64_t more) {
  raise_to(truth->perhaps_peak, truth->perhaps.fetch_add(more) + more);
}

std::size_t pages(std::size_t bytes) {
  return (bytes + kPage - 1) / kPage * kPage;
}
// Returns an upper bound of the usable size.
std::int64_t at_most(std::size_t asked, bool mapped) {
  if (mapped) return static_cast<std::int64_t>(pages(asked));
  return static_cast<std::int64_t>(asked < 64 * 1024 ? asked + 64 : pages(asked + 64));
}

void before_birth(std::int64_t bound) {
  truth->births_begun.fetch_add(1);
  perhaps(bound);
}
void after_birth(const Block& block, std::int64_t bound) {
  const auto bytes = static_cast<std::int64_t>(block.bytes);
  surely(bytes);
  perhaps(bytes - bound);
  truth->births.fetch_add(1);
  truth->births_of[63 - __builtin_clzll(block.bytes | 1)].fetch_add(1);
}
void before_death(const Block& block) {
  truth->deaths_begun.fetch_add(1);
  surely(-static_cast<std::int64_t>(block.bytes));
}
void after_death(std::size_t bytes) {
  perhaps(-static_cast<std::int64_t>(bytes));
  truth->deaths.fetch_add(1);
}

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15ull + 1) {}
  std::uint64_t next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_ * 0x2545f4914f6cdd1dull >> 11;
  }
  std::size_t between(std::size_t low, std::size_t high) { return low + next() % (high - low + 1); }

 private:
  std::uint64_t state_;
};

std::size_t random_size(Random& random) {
  const std::uint64_t what = random.next() % 100;
  if (options.sizes == 'n') return random.between(kPage, 2 * kPage); // few bytes are in flight
  if (options.sizes == 't') return random.between(1, 2000);
  if (options.sizes == 'm' && what < 60) return random.between(1, 4000);
  if (what < 95) return random.between(kPage, 128 * 1024);
  return random.between(128 * 1024, 1 << 20);
}

void fill(const Block& block) {
  for (std::size_t at = 0; options.touch && at < block.bytes; at += kPage) block.at[at] = 1;
}

Block allocate(Random& random) {
  const std::size_t asked = random_size(random);
  const std::uint64_t way = random.next() % 16;
  Block block;
  block.mapped = way == 0 && asked >= kPage;
  const std::int64_t bound = at_most(asked + (way == 2 ? 64 : 0), block.mapped);
  before_birth(bound);
  void* at = nullptr;
  if (block.mapped) {
    at = mmap(nullptr, asked, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) at = nullptr;
  } else if (way == 1) {
    at = std::calloc(1, asked);
  } else if (way == 2) {
    if (posix_memalign(&at, 64, asked) != 0) at = nullptr;
  } else {
    at = std::malloc(asked);
  }
  if (at == nullptr) std::abort();
  block.at = static_cast<char*>(at);
  block.bytes = block.mapped ? pages(asked) : malloc_usable_size(at);
  after_birth(block, bound);
  fill(block);
  return block;
}

void release(Block& block) {
  before_death(block);
  if (block.mapped) {
    munmap(block.at, block.bytes);
  } else {
    std::free(block.at);
  }
  after_death(block.bytes);
  block = {};
}

void resize(Block& block, Random& random) {
  const std::size_t asked = random_size(random), old = block.bytes;
  const std::int64_t bound = at_most(asked, block.mapped);
  before_birth(bound);
  before_death(block);
  void* const at = block.mapped ? mremap(block.at, old, asked, MREMAP_MAYMOVE) : std::realloc(block.at, asked);
  if (at == nullptr || at == MAP_FAILED) std::abort();
  block.at = static_cast<char*>(at);
  block.bytes = block.mapped ? pages(asked) : malloc_usable_size(at);
  after_birth(block, bound);
  after_death(old);
  fill(block);
}

// The slots of a thread, in its own static memory.
struct Held {
  Block block[kSlots];
  std::int64_t bytes = 0;
};
Held held_by[kMostThreads];

// Exchanges a block, so that threads free the blocks of other threads.
void hand_over(Held& mine, std::size_t slot, Random& random) {
  static Block store[kMostThreads * kSlots];
  static std::atomic<std::size_t> next{0};
  std::atomic<Block*>& place = handed[random.next() % kHanded];
  Block* const given = place.exchange(nullptr);
  if (given != nullptr) {
    mine.bytes += static_cast<std::int64_t>(given->bytes);
    if (mine.block[slot].at == nullptr) {
      mine.block[slot] = *given;
    } else {
      mine.bytes -= static_cast<std::int64_t>(given->bytes);
      release(*given);
    }
    return;
  }
  const std::size_t index = next.fetch_add(1);
  if (index >= kMostThreads * kSlots || mine.block[slot].at == nullptr) return;
  store[index] = mine.block[slot];
  mine.bytes -= static_cast<std::int64_t>(store[index].bytes);
  mine.block[slot] = {};
  Block* expected = nullptr;
  if (!place.compare_exchange_strong(expected, &store[index])) release(store[index]);
}

double now() {
  timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  return static_cast<double>(at.tv_sec) + 1e-9 * static_cast<double>(at.tv_nsec);
}

std::atomic<long> called{0}; // how many meetings were called so far

// All threads pause while the first one notes the level and marks a phase of that instant.
void attend(long number, bool first) {
  pthread_barrier_wait(&meeting);
  if (first) {
    char name[32];
    std::snprintf(name, sizeof name, "meeting %ld", number);
    truth->at_meeting[number].store(truth->surely.load());
    truth->meetings.store(number + 1);
    memtrace_phase_begin(name);
    memtrace_phase_end();
  }
  pthread_barrier_wait(&meeting);
}

void churn(Held& mine, Random& random, bool first) {
  const std::int64_t most = options.held / options.threads;
  // A thread that starts while other threads free may get larger blocks from libc: glibc adds 16 bytes if the
  // rest of a free block would be too small. Without this barrier, the levels were 16 to 128 bytes off in 57 of
  // 90 runs of 256 threads on a busy machine; with it in 0 of 60.
  if (options.meetings > 0) pthread_barrier_wait(&meeting);
  double next = now() + options.meet;
  long met = 0;
  for (long i = 0; options.operations < 0 || i < options.operations; ++i) {
    if (options.meetings > 0) {
      if (first && i % 64 == 0 && now() >= next) {
        next += options.meet;
        called.fetch_add(1);
      }
      if (called.load() > met) attend(met++, first);
      if (met == options.meetings) return;
    }
    const std::size_t slot = random.next() % kSlots;
    Block& block = mine.block[slot];
    const std::uint64_t what = random.next() % 32;
    if (what == 0) {
      hand_over(mine, slot, random);
      continue;
    }
    mine.bytes -= static_cast<std::int64_t>(block.bytes);
    if (block.at == nullptr) {
      if (mine.bytes < most) block = allocate(random);
    } else if (what < 8 && mine.bytes < most) {
      resize(block, random);
    } else {
      release(block);
    }
    mine.bytes += static_cast<std::int64_t>(block.bytes);
  }
}

void hold(Held& mine, Random& random, bool first) {
  const long count = options.operations < 0 ? 20 : options.operations;
  for (long i = 0; i < count; ++i) mine.block[i % kSlots] = allocate(random);
  pthread_barrier_wait(&meeting);
  if (first) truth->held.store(truth->surely.load());
  while (first && options.stay) pause();
  pthread_barrier_wait(&meeting);
  for (long i = 0; i < count; i += 2) release(mine.block[i % kSlots]);
  pthread_barrier_wait(&meeting);
  if (!first) return;
  truth->left.store(truth->surely.load());
  memtrace_phase_begin("left");
  memtrace_phase_end();
}

void* work(void* number) {
  const auto index = reinterpret_cast<std::uintptr_t>(number);
  Random random(options.seed * 1000 + index);
  truth->ready.fetch_add(1);
  if (options.churn) {
    churn(held_by[index], random, index == 0);
  } else {
    hold(held_by[index], random, index == 0);
  }
  // An ending thread would free its own small libc blocks.
  pthread_barrier_wait(&meeting);
  return nullptr;
}

void read_options(int count, char** words) {
  for (int i = 2; i + 1 < count; i += 2) {
    const char* const name = words[i];
    const char* const value = words[i + 1];
    if (std::strcmp(name, "--threads") == 0) options.threads = std::atol(value);
    if (std::strcmp(name, "--way") == 0) options.churn = value[0] == 'c';
    if (std::strcmp(name, "--as") == 0) options.as = value[0];
    if (std::strcmp(name, "--sizes") == 0) options.sizes = value[0];
    if (std::strcmp(name, "--operations") == 0) options.operations = std::atol(value);
    if (std::strcmp(name, "--held") == 0) options.held = std::atol(value);
    if (std::strcmp(name, "--seed") == 0) options.seed = std::strtoul(value, nullptr, 10);
    if (std::strcmp(name, "--meet") == 0) options.meet = std::atof(value);
    if (std::strcmp(name, "--meetings") == 0) options.meetings = std::atol(value);
    if (std::strcmp(name, "--stay") == 0) options.stay = value[0] == '1';
    if (std::strcmp(name, "--touch") == 0) options.touch = value[0] == '1';
  }
  if (options.threads < 1 || options.threads > kMostThreads || options.meetings > kMostMeetings) std::_Exit(2);
}

bool open_truth(const char* path) {
  const int file = open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return false;
  void* const at = mmap(nullptr, pages(sizeof(Truth)), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  truth = static_cast<Truth*>(at);
  return at != MAP_FAILED;
}

// True in the process that does the work. The other process waits for it and ends as it did.
bool go_to_child(char** words, int& status) {
  if (options.as == 'm') return true;
  const pid_t child = fork();
  if (child == 0 && options.as == 'f') return true;
  if (child == 0) {
    for (char** at = words; *at != nullptr; ++at)
      if (std::strcmp(*at, "--as") == 0) std::strcpy(at[1], "main");
    execv("/proc/self/exe", words);
    std::_Exit(3);
  }
  waitpid(child, &status, 0);
  status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return false;
}

} // namespace

int main(int count, char** words) {
  int status = 0;
  if (count < 2) return 2;
  read_options(count, words);
  if (!go_to_child(words, status)) return status;
  if (!open_truth(words[1])) return 2;
  truth->pid.store(getpid());
  pthread_barrier_init(&meeting, nullptr, static_cast<unsigned>(options.threads));
  pthread_t others[kMostThreads];
  for (long i = 1; i < options.threads; ++i) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, stacks[i], kStack);
    truth->threads_begun.fetch_add(1);
    if (pthread_create(&others[i], &attributes, work, reinterpret_cast<void*>(i)) != 0) return 4;
    truth->threads.fetch_add(1);
    pthread_attr_destroy(&attributes);
  }
  work(nullptr);
  truth->done.store(1);
  for (long i = 1; i < options.threads; ++i) pthread_join(others[i], nullptr);
  return 0;
}
