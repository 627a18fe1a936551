// Purpose: a planted fault: a hook that the library does not export.
// Runs: inside the program's sbrk.
#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT void* malloc(unsigned long n) noexcept {
  return nullptr;
}
EXPORT void* sbrk(long n) noexcept {
  return nullptr;
}
