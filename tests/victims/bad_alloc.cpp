// Purpose: blocks of 32 MiB under a limit of the address space, until one cannot be had and nobody catches
// that. A victim.
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
