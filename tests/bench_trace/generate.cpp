// Purpose: writes a trace of a given size, and says what the analyzer must find in it.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include "training.h"

namespace {

std::uint64_t bytes_of(const std::string& size) {
  char* end = nullptr;
  const std::uint64_t number = std::strtoull(size.c_str(), &end, 10);
  const std::string unit = end;
  return number << (unit == "K" ? 10 : unit == "M" ? 20 : unit == "G" ? 30 : 0);
}

const memtrace::tests::Output* writes = nullptr;

std::string text_of(memtrace::format::TextId id) {
  return writes->text_of(id);
}

} // namespace

int main(int argc, char** argv) {
  if (argc < 3 || argc == 5 || argc > 6 || bytes_of(argv[2]) == 0) {
    std::fprintf(stderr,
                 "usage: memtrace_bench_trace FILE SIZE [PAUSE [RANK WORLD]]\n"
                 "SIZE in bytes, or with K, M, G; PAUSE: seconds without events before each step\n");
    return 2;
  }
  try {
    memtrace::tests::Output output(argv[1], &text_of);
    writes = &output;
    const std::uint64_t pause = argc >= 4 ? std::strtoull(argv[3], nullptr, 10) : 0;
    const auto number = [argv](int at) {
      return static_cast<std::uint32_t>(std::strtoul(argv[at], nullptr, 10));
    };
    memtrace::tests::Training::Rank rank;
    if (argc == 6) rank = {number(4), number(5)};
    memtrace::tests::Training training(output, pause * 1'000'000'000, rank);
    do training.step();
    while (output.bytes() < bytes_of(argv[2]));
    training.finish();
    std::printf("{\"bytes\": %llu, \"records\": %llu, \"steps\": %llu, \"live\": %lld, \"tensor\": %lld}\n",
                static_cast<unsigned long long>(output.bytes()),
                static_cast<unsigned long long>(output.records()),
                static_cast<unsigned long long>(training.steps()), static_cast<long long>(training.live.peak),
                static_cast<long long>(training.tensor.peak));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "memtrace_bench_trace: %s\n", error.what());
    return 1;
  }
  return 0;
}
