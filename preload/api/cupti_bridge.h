/* Purpose: the versioned C bridge that carries device events and NVTX ranges to the recorder.
 * Runs: between libmemtrace.so and libmemtrace_cupti.so, which may come from different builds.
 *
 * libmemtrace.so exports memtrace_open_bridge, which dlsym finds; the libraries are not linked. The layout of a
 * bridge never changes: new members go to its end, and `bytes` is the size that is present. `version` rises
 * only if a member changes its meaning. All functions may be called from any thread, keep errno, allocate
 * nothing and never fail visibly.
 */
#ifndef MEMTRACE_CUPTI_BRIDGE_H
#define MEMTRACE_CUPTI_BRIDGE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MEMTRACE_BRIDGE_VERSION 1u

/* The event of a block. The physical memory of cuMemCreate lives until its handle is released and its last
 * mapping is removed. The recorder keeps count of that; callers report only the calls. */
enum memtrace_device_what {
  MEMTRACE_DEVICE_BORN = 1,    /* address, bytes, handle */
  MEMTRACE_DEVICE_DIED,        /* address, stamp */
  MEMTRACE_DEVICE_FAILED,      /* bytes asked, code; free and total if known */
  MEMTRACE_DEVICE_CREATED,     /* cuMemCreate: address is the handle, bytes */
  MEMTRACE_DEVICE_RELEASED,    /* cuMemRelease: address is the handle, stamp */
  MEMTRACE_DEVICE_RETAINED,    /* cuMemRetainAllocationHandle: address is the handle */
  MEMTRACE_DEVICE_MAPPED,      /* cuMemMap: address, bytes, handle */
  MEMTRACE_DEVICE_UNMAPPED,    /* cuMemUnmap: address, bytes, stamp */
  MEMTRACE_DEVICE_CONTEXT,     /* a context is destroyed: handle, stamp. Its blocks die */
  MEMTRACE_DEVICE_CONTEXT_BORN /* a context is made: device, handle. Older recorders ignore it */
};

/* How a block was allocated. The numbers are independent of the trace's, because the bridge outlives those. */
enum memtrace_device_kind {
  MEMTRACE_KIND_DEVICE = 1,
  MEMTRACE_KIND_DEVICE_ASYNC,
  MEMTRACE_KIND_DEVICE_VMM,
  MEMTRACE_KIND_MANAGED,
  MEMTRACE_KIND_PINNED,
  MEMTRACE_KIND_REGISTERED
};

struct memtrace_device_event {
  uint32_t what;
  uint32_t kind;
  int32_t device; /* CUDA's ordinal; -1: host memory */
  uint32_t code;  /* failure: the driver's CUresult */
  uint64_t address;
  uint64_t bytes;
  uint64_t handle; /* birth: the context; 0: not known */
  uint64_t stamp;  /* death: from `stamp()`, drawn before the real call */
  uint64_t free;   /* all ones: not known */
  uint64_t total;
};

struct memtrace_device_identity {
  int32_t device;
  const char* name;    /* null: not known */
  const uint8_t* uuid; /* 16 bytes; null: not known */
  uint64_t total;      /* bytes; 0: not known */
};

/* The use of a GPU at one time; all ones: not known. */
struct memtrace_device_use {
  int32_t device;
  uint32_t others;      /* number of other processes that the GPU reports */
  uint64_t process;     /* bytes used by this process */
  uint64_t card;        /* bytes used on the GPU, by all processes */
  uint64_t total;       /* bytes of the GPU */
  uint64_t others_used; /* bytes used by the other processes */
  uint64_t code;        /* bytes of the cubins loaded so far, on the host: a lower bound */
};

struct memtrace_bridge {
  uint32_t version;
  uint32_t bytes; /* sizeof in the library that returns it */
  /* 1: the CUPTI subscriber is active, so the hooks record nothing. 0: the hooks record again. */
  void (*owns_devices)(int owns);
  int (*is_owner)(void); /* 0 again after the hooks saw a call without its callback */
  uint64_t (*stamp)(void);
  void (*device_event)(const struct memtrace_device_event* event);
  void (*device_identity)(const struct memtrace_device_identity* identity);
  void (*device_use)(const struct memtrace_device_use* use);
  /* Registers the function that is called at safe points: at phase edges and after device calls, on the
   * program's threads, outside the allocators. There it may query a GPU. Only one function; null: none. */
  void (*on_safe_point)(void (*call)(void));
  void (*phase_begin)(const char* name, size_t bytes);
  void (*phase_end)(const char* name, size_t bytes);
  void (*note)(const char* text, size_t bytes); /* `key=value` for the reader of the trace */
  void (*say)(const char* text);                /* prints one line on stderr, after `memtrace: ` */
  int (*cupti_mode)(void);                      /* MEMTRACE_CUPTI: 0 off, 1 auto, 2 on */
  int (*wants_phases)(void);
  const char* (*nvtx_domains)(void); /* MEMTRACE_NVTX_DOMAINS; null: not set */
  /* How often the live bytes of a device rose above the highest so far. */
  uint64_t (*device_peaks)(void);
};

/* Returns null if there is no such version. */
typedef const struct memtrace_bridge* (*memtrace_bridge_function)(uint32_t version);

#ifdef __cplusplus
}
#endif

#endif
