// Purpose: throws through frames, beside a destructor and in a thread, with allocations on the way.
// A victim: its output must be the same with and without the tracer.
#include <cstdio>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

struct Noted {
  std::vector<int> held = std::vector<int>(1000);
  ~Noted() { std::puts("unwound"); }
};

int deep(int depth) {
  Noted noted;
  if (depth == 0) throw std::runtime_error("from the bottom, and long enough to be on the heap of the program");
  return deep(depth - 1) + static_cast<int>(noted.held.size());
}

void attempt() {
  try {
    std::printf("%d\n", deep(5));
  } catch (const std::exception& error) {
    std::printf("caught: %s\n", error.what());
  }
}

} // namespace

int main() {
  attempt();
  std::thread(attempt).join();
  try {
    try {
      attempt();
      throw std::string(10000, 'x');
    } catch (...) {
      throw;
    }
  } catch (const std::string& text) {
    std::printf("rethrown: %zu\n", text.size());
  }
  try {
    std::vector<char> huge(~std::size_t{0} / 4);
    std::printf("%zu\n", huge.size());
  } catch (const std::bad_alloc&) {
    std::puts("bad_alloc");
  }
}
