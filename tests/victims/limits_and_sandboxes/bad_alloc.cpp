// Purpose: allocates blocks of 32 MiB under an address space limit until std::bad_alloc, which is not caught. A
// victim.
#include <sys/resource.h>

#include <cstring>

int main() {
  const rlimit limit{512u << 20, 512u << 20};
  setrlimit(RLIMIT_AS, &limit);
  for (;;) {
    constexpr std::size_t kBytes = 32u << 20;
    std::memset(new char[kBytes], 1, kBytes);
  }
}
