// Purpose: a server in C++ that keeps 3000 blocks of 200 bytes of each request, for scripts/compare.
#include <cstdio>
#include <memory>
#include <vector>

struct Entry {
  char text[200];
};

std::vector<std::unique_ptr<Entry>> kept;

__attribute__((noinline)) void handle(int count) {
  for (int i = 0; i < count; ++i) kept.push_back(std::make_unique<Entry>()); // CAUSE
}

int main() {
  constexpr int REQUESTS = 100;
  constexpr int COUNT = 3000;
  kept.reserve(REQUESTS * COUNT);
  for (int request = 0; request < REQUESTS; ++request) handle(COUNT);
  std::printf("truth %zu\n", REQUESTS * COUNT * sizeof(Entry));
}
