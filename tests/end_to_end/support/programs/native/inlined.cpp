// Purpose: allocates a block of 9 MiB through two functions that are always inlined.
#include <unistd.h>

#include <cstdlib>
#include <cstring>

char* kept[8];

inline __attribute__((always_inline)) char* take(std::size_t bytes) {
  return static_cast<char*>(std::malloc(bytes));
}

struct Pool {
  __attribute__((always_inline)) void grow(int i) {
    kept[i] = take(9 << 20);
    std::memset(kept[i], 1, 9 << 20);
  }
};

__attribute__((noinline)) void fill(int i) {
  Pool pool;
  pool.grow(i);
  asm volatile("" ::: "memory");
}

int main() {
  fill(0);
  asm volatile("" ::: "memory");
  usleep(1000);
  return 0;
}
