/* Purpose: marks that a C or C++ program may set. Nothing is linked; without memtrace the calls do nothing.
 * Compiled into the traced program.
 *
 * A program that is not position-independent (-no-pie) must be linked with -z dynamic-undefined-weak: otherwise
 * GNU ld decides at link time that the symbols are absent, and the calls never do anything. */
#ifndef MEMTRACE_H
#define MEMTRACE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef MEMTRACE_IMPLEMENTATION
/* For libmemtrace.so itself. */
#define MEMTRACE_CALL(name, parameters, arguments) \
  __attribute__((visibility("default"))) void memtrace_##name parameters;
#else
/* The check and the call are inline; what they refer to is a weak symbol of libmemtrace.so. It has another name
 * in C and the same in assembly, and gnu_inline keeps the function itself from ever being emitted, for under
 * that name it would be taken for the symbol. */
#define MEMTRACE_CALL(name, parameters, arguments)                                               \
  extern void memtrace_weak_##name parameters __asm__("memtrace_" #name) __attribute__((weak));  \
  extern __inline__ __attribute__((gnu_inline, always_inline)) void memtrace_##name parameters { \
    if (memtrace_weak_##name) memtrace_weak_##name arguments;                                    \
  }
#endif

/* A phase of this thread, and of the threads that have none of their own, until its end. Phases nest. */
MEMTRACE_CALL(phase_begin, (const char* name), (name))
/* Ends the innermost phase of this thread. */
MEMTRACE_CALL(phase_end, (void), ())
/* Step n begins now. Once called, steps of this process come from these calls only. */
MEMTRACE_CALL(step, (uint64_t n), (n))
/* What [ptr, ptr + bytes) is for: role as in "parameter" or "optimizer_state", name as you like or null. */
MEMTRACE_CALL(label, (const void* ptr, size_t bytes, const char* role, const char* name),
              (ptr, bytes, role, name))

#undef MEMTRACE_CALL

#ifdef __cplusplus
}
#endif

#endif
