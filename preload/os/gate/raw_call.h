// Purpose: makes one system call, if the recorder may make system calls.
// Runs: on any thread, also on threads that glibc does not know.
#pragma once

#include <sys/syscall.h>

#include <cerrno>

#include "preload/os/gate/syscall_gate.h"

#if !defined(__x86_64__) || !defined(__linux__)
#error "memtrace runs on x86-64 Linux only"
#endif

namespace memtrace::record::os {

// Returns the kernel's result: a negative errno on failure. Returns -EPERM if the program is in a sandbox.
inline long call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) {
  const Passage passage(number == SYS_openat);
  if (!passage) return -EPERM;
  long result;
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  register long r9 asm("r9") = f;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return result;
}

template <class T>
long word(T* pointer) {
  return reinterpret_cast<long>(pointer);
}

} // namespace memtrace::record::os
