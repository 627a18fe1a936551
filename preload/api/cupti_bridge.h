/* Purpose: the versioned C bridge by which device events and NVTX ranges reach the one recorder.
 * Runs: between libmemtrace.so and libmemtrace_cupti.so, which may come from different builds.
 *
 * libmemtrace.so exports memtrace_open_bridge, found by dlsym; nothing is linked. A bridge is never changed in
 * place: new members go to its end, `bytes` says how much of it is there, and `version` rises only when a
 * member changes its meaning. All may be called from any thread, keep errno, allocate nothing and never fail
 * visibly.
 */
#ifndef MEMTRACE_CUPTI_BRIDGE_H
#define MEMTRACE_CUPTI_BRIDGE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MEMTRACE_BRIDGE_VERSION 1u

/* What became of a block. The physical memory of cuMemCreate lives until its handle is released and its last
 * mapping is gone; the recorder keeps that account, callers say what was called. */
enum memtrace_device_what {
  MEMTRACE_DEVICE_BORN = 1, /* address, bytes, handle */
  MEMTRACE_DEVICE_DIED,     /* address, stamp */
  MEMTRACE_DEVICE_FAILED,   /* bytes asked, code, free and total where known */
  MEMTRACE_DEVICE_CREATED,  /* cuMemCreate: address is the handle, bytes */
  MEMTRACE_DEVICE_RELEASED, /* cuMemRelease: address is the handle, stamp */
  MEMTRACE_DEVICE_RETAINED, /* cuMemRetainAllocationHandle: address is the handle */
  MEMTRACE_DEVICE_MAPPED,   /* cuMemMap: address, bytes, handle */
  MEMTRACE_DEVICE_UNMAPPED, /* cuMemUnmap: address, bytes, stamp */
  MEMTRACE_DEVICE_CONTEXT   /* a context is destroyed: handle, stamp. What was born in it dies */
};

/* How bytes were got: numbers of their own, for the bridge outlives the trace's. */
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
  uint32_t code;  /* of a failure: the driver's CUresult */
  uint64_t address;
  uint64_t bytes;
  uint64_t handle; /* of a birth: its context; 0: not known */
  uint64_t stamp;  /* of a death: from `stamp()`, drawn before the real call */
  uint64_t free;   /* all ones: not known */
  uint64_t total;
};

struct memtrace_device_identity {
  int32_t device;
  const char* name;    /* null: not known */
  const uint8_t* uuid; /* 16 bytes; null: not known */
  uint64_t total;      /* bytes; 0: not known */
};

/* What a card shows at one moment; all ones where it does not say. */
struct memtrace_device_use {
  int32_t device;
  uint32_t others;      /* processes beside this one that the card knows of */
  uint64_t process;     /* bytes used by this process */
  uint64_t card;        /* used on the card, by all */
  uint64_t total;       /* of the card */
  uint64_t others_used; /* bytes used by the others */
  uint64_t code;        /* bytes of the cubins loaded so far, on the host's side: a lower bound */
};

struct memtrace_bridge {
  uint32_t version;
  uint32_t bytes; /* sizeof of the giver's */
  /* The subscriber is active, or is not any more: 1 and the hooks are silent, 0 and they record again. */
  void (*owns_devices)(int owns);
  int (*is_owner)(void); /* 0 again when the hooks saw a call that came without its callback */
  uint64_t (*stamp)(void);
  void (*device_event)(const struct memtrace_device_event* event);
  void (*device_identity)(const struct memtrace_device_identity* identity);
  void (*device_use)(const struct memtrace_device_use* use);
  /* Called at phase edges and after device calls, on the program's threads, outside the allocators: the moment
   * to ask a card. One function; null: none. */
  void (*on_safe_point)(void (*call)(void));
  void (*phase_begin)(const char* name, size_t bytes);
  void (*phase_end)(const char* name, size_t bytes);
  void (*note)(const char* text, size_t bytes); /* `key=value` for the reader of the trace */
  void (*say)(const char* text);                /* one line on stderr, `memtrace: ` before it */
  int (*cupti_mode)(void);                      /* MEMTRACE_CUPTI: 0 off, 1 auto, 2 on */
  int (*wants_phases)(void);
};

/* Null: no such version. */
typedef const struct memtrace_bridge* (*memtrace_bridge_function)(uint32_t version);

#ifdef __cplusplus
}
#endif

#endif
