/* Purpose: marks that a C or C++ program may set. No library is linked; without memtrace the calls do nothing.
 * Compiled into the traced program.
 *
 * If a program is not position-independent (-no-pie), link it with -z dynamic-undefined-weak. Otherwise GNU ld
 * decides at link time that the symbols are absent, and the calls never do anything. */
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
__attribute__((visibility("default"))) int memtrace_is_recording(void);
#else
/* The check and the call are inline, and refer to a weak symbol of libmemtrace.so. The symbol has another name
 * in C than the inline function, but the same name in assembly. gnu_inline keeps the inline function from being
 * emitted, because under that name it would be taken for the symbol. */
#define MEMTRACE_CALL(name, parameters, arguments)                                               \
  extern void memtrace_weak_##name parameters __asm__("memtrace_" #name) __attribute__((weak));  \
  extern __inline__ __attribute__((gnu_inline, always_inline)) void memtrace_##name parameters { \
    if (memtrace_weak_##name) memtrace_weak_##name arguments;                                    \
  }
extern int memtrace_weak_is_recording(void) __asm__("memtrace_is_recording") __attribute__((weak));
/* Returns 1 if memtrace records this process, else 0. */
extern __inline__ __attribute__((gnu_inline, always_inline)) int memtrace_is_recording(void) {
  return memtrace_weak_is_recording ? memtrace_weak_is_recording() : 0;
}
#endif

/* Begins a phase of this thread, and of the threads without their own phases. Phases nest. */
MEMTRACE_CALL(phase_begin, (const char* name), (name))
/* Ends the innermost phase of this thread that memtrace itself did not begin. */
MEMTRACE_CALL(phase_end, (void), ())
/* Begins step n. After the first call, the steps of this process come only from these calls. */
MEMTRACE_CALL(step, (uint64_t n), (n))
/* Labels [ptr, ptr + bytes) with a role, such as "parameter" or "optimizer_state", and any name or null. */
MEMTRACE_CALL(label, (const void* ptr, size_t bytes, const char* role, const char* name),
              (ptr, bytes, role, name))
/* Marks this instant. The report says what is alive at it. */
MEMTRACE_CALL(snapshot, (const char* name), (name))

#undef MEMTRACE_CALL

#ifdef __cplusplus
}
#endif

#endif
