// Purpose: the way into Python and its frames without the recorder: marks go into a log that a script can read.
// A small preload object.
#include <dlfcn.h>
#include <pthread.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "preload/allocator/pymalloc_arenas.h"
#include "preload/device/device_blocks.h"
#include "preload/device/nccl_blocks.h"
#include "preload/format/records.h"
#include "preload/hooks/python/interpreter_startup.h"
#include "preload/marks/framework_facts.h"
#include "preload/marks/phase_marks.h"
#include "preload/record/model_modules.h"
#include "preload/record/process_groups.h"
#include "preload/record/stack_capture.h"
#include "preload/stack/python_frames.h"

namespace {

constexpr std::size_t kDeep = 64;
constexpr std::size_t kName = 64;
constexpr std::size_t kLog = 1 << 20;

thread_local char t_open[kDeep][kName];
thread_local std::size_t t_depth = 0;

pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;
char g_log[kLog];
std::size_t g_bytes = 0;

void say(const char* text) {
  pthread_mutex_lock(&g_lock);
  std::size_t bytes = std::strlen(text);
  if (g_bytes + bytes < kLog) {
    std::memcpy(g_log + g_bytes, text, bytes + 1);
    g_bytes += bytes;
  }
  pthread_mutex_unlock(&g_lock);
  // Worker processes have no other way out.
  if (const char* path = std::getenv("PROBE_LOG")) {
    if (std::FILE* file = std::fopen(path, "a")) {
      std::fputs(text, file);
      std::fclose(file);
    }
  }
}

bool is_open(std::size_t at, const char* name, std::size_t bytes) {
  return std::strlen(t_open[at]) == bytes && std::memcmp(t_open[at], name, bytes) == 0;
}

struct Call {
  const void* code;
  int place;
};
bool g_unnamed = false;
Call g_calls[128];
std::size_t g_call_count = 0;
int place_in(const void* code) {
  for (std::size_t i = 0; i < g_call_count; ++i)
    if (g_calls[i].code == code) return g_calls[i].place;
  return -1;
}

__attribute__((constructor)) void start() {
  const char* mode = std::getenv("MEMTRACE_PHASES");
  memtrace::hooks::python_start(mode != nullptr ? mode : "auto");
}

} // namespace

namespace memtrace::record {

void phase_begin(const char* name, std::size_t bytes, std::uint16_t flags) {
  char line[kName + 32];
  std::snprintf(line, sizeof(line), "begin %.*s%s\n", static_cast<int>(bytes), name,
                (flags & format::kGradOff) != 0   ? " grad_off"
                : (flags & format::kClosure) != 0 ? " closure"
                                                  : "");
  say(line);
  if (t_depth == kDeep) std::abort();
  std::snprintf(t_open[t_depth++], kName, "%.*s", static_cast<int>(bytes), name);
}

void phase_end(const char* name, std::size_t bytes, std::uint16_t flags) {
  char line[kName + 32];
  std::snprintf(line, sizeof(line), "end %.*s%s\n", static_cast<int>(bytes), name,
                (flags & format::kSkipped) != 0 ? " skipped" : "");
  say(line);
  if (t_depth == 0 || !is_open(t_depth - 1, name, bytes)) {
    say("unbalanced\n");
    return;
  }
  --t_depth;
}

std::size_t phase_current(char* out, std::size_t capacity) {
  if (t_depth == 0) return 0;
  std::size_t bytes = std::strlen(t_open[t_depth - 1]);
  if (bytes > capacity) bytes = capacity;
  std::memcpy(out, t_open[t_depth - 1], bytes);
  return bytes;
}

bool phase_inside(const char* name, std::size_t bytes) {
  for (std::size_t i = 0; i < t_depth; ++i) {
    if (is_open(i, name, bytes)) return true;
  }
  return false;
}

void step_begin(std::uint64_t number) {
  char line[64];
  std::snprintf(line, sizeof(line), "step %llu\n", static_cast<unsigned long long>(number));
  say(line);
}

void parameters(std::uint64_t count, std::uint64_t trainable, std::uint64_t bytes, std::uint64_t tensors) {
  char line[128];
  std::snprintf(line, sizeof(line), "parameters %llu %llu %llu %llu\n", static_cast<unsigned long long>(count),
                static_cast<unsigned long long>(trainable), static_cast<unsigned long long>(bytes),
                static_cast<unsigned long long>(tensors));
  say(line);
}

void parameter_dtype(const char* dtype, std::size_t bytes, std::uint64_t count) {
  char line[128];
  std::snprintf(line, sizeof(line), "dtype %.*s %llu\n", static_cast<int>(bytes), dtype,
                static_cast<unsigned long long>(count));
  say(line);
}

void label(const void*, std::uint64_t bytes, const char* role, const char* name, unsigned memory,
           const char* module) {
  char line[512];
  std::snprintf(line, sizeof(line), "label %s %s %llu %u %s\n", role, name,
                static_cast<unsigned long long>(bytes), memory, module);
  say(line);
}

void forget_modules() {
  say("modules\n");
}
void note_module_path(const void* self, const char* path, std::size_t bytes) {
  char line[512];
  std::snprintf(line, sizeof(line), "module %llu %.*s\n",
                static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(self)),
                static_cast<int>(bytes), path);
  say(line);
}

void add_group_call(const void* code, int place) {
  if (g_call_count == sizeof g_calls / sizeof *g_calls) std::abort();
  g_calls[g_call_count++] = {code, place};
}
void forget_groups() {
  say("groups\n");
}
void note_group_name(std::uint64_t key, const char* name, std::size_t bytes) {
  char line[512];
  std::snprintf(line, sizeof(line), "group %llu %.*s\n", static_cast<unsigned long long>(key),
                static_cast<int>(bytes), name);
  say(line);
}
void label_waiting_nccl_blocks() {}
bool has_new_group_blocks() {
  return g_unnamed;
}

void note_copied_at_first_item() {}
void pinned_use(std::uint64_t, std::uint64_t) {} // nobody is asked: there is none
bool pinned_memory_is_held() {
  return false;
}
void note(const char* text, std::size_t bytes) {
  char line[512];
  std::snprintf(line, sizeof(line), "note %.*s\n", static_cast<int>(bytes), text);
  say(line);
}

void outside_hook() {}
void python_arenas_come_from(const void*) {}
void hide_interpreter(const void*) {}

} // namespace memtrace::record

// What the scripts call, by ctypes.
extern "C" {

__attribute__((visibility("default"))) const char* probe_log() {
  return g_log;
}

__attribute__((visibility("default"))) void probe_clear() {
  pthread_mutex_lock(&g_lock);
  g_bytes = 0;
  g_log[0] = '\0';
  pthread_mutex_unlock(&g_lock);
}

__attribute__((visibility("default"))) std::size_t probe_depth() {
  return t_depth;
}

// The C API, as libmemtrace.so has it.
__attribute__((visibility("default"))) void memtrace_phase_begin(const char* name) {
  memtrace::record::phase_begin(name, std::strlen(name), 0);
}
__attribute__((visibility("default"))) void memtrace_phase_end() {
  char name[kName];
  std::size_t bytes = memtrace::record::phase_current(name, sizeof(name));
  if (bytes > 0) memtrace::record::phase_end(name, bytes, 0);
}
__attribute__((visibility("default"))) void memtrace_step(unsigned long long number) {
  memtrace::record::step_begin(number);
}
__attribute__((visibility("default"))) void memtrace_label(const void* address, std::size_t bytes,
                                                           const char* role, const char* name) {
  memtrace::record::label(address, bytes, role, name, 0, "");
}
__attribute__((visibility("default"))) int memtrace_is_recording() {
  return 1;
}

// The calling thread's Python frames, innermost first: "function NUL file NUL first line NUL line NUL" each.
// -1 when a name did not fit.
__attribute__((visibility("default"))) long probe_chain(char* out, std::size_t capacity) {
  memtrace::record::PythonFrame frames[4096];
  std::size_t count = memtrace::record::python_walk(frames, 4096);
  std::size_t used = 0;
  for (std::size_t i = 0; i < count; ++i) {
    char room[4096];
    memtrace::record::PythonNames names;
    if (!memtrace::record::python_names(frames[i], &names, room, sizeof(room))) return -1;
    if (used + names.function_bytes + names.file_bytes + 64 > capacity) return -1;
    std::memcpy(out + used, names.function, names.function_bytes);
    used += names.function_bytes;
    out[used++] = '\0';
    std::memcpy(out + used, names.file, names.file_bytes);
    used += names.file_bytes;
    out[used++] = '\0';
    used += static_cast<std::size_t>(std::sprintf(out + used, "%u", names.first_line)) + 1;
    used += static_cast<std::size_t>(std::sprintf(out + used, "%u", names.line)) + 1;
  }
  return static_cast<long>(used);
}

// The ids of the modules that the calling thread's stack is in, innermost first. Returns their number.
__attribute__((visibility("default"))) std::size_t probe_modules(std::uint64_t* out) {
  static memtrace::record::PythonFrame frames[4096];
  memtrace::record::ModuleCalls calls;
  memtrace::record::python_walk(frames, 4096, &calls);
  for (std::size_t i = 0; i < calls.count; ++i) out[i] = reinterpret_cast<std::uintptr_t>(calls.self[i]);
  return calls.count;
}

__attribute__((visibility("default"))) void probe_module_call(std::size_t code) {
  memtrace::record::python_module_call(reinterpret_cast<const void*>(code));
}

// What a process group's functions have in their variable.
__attribute__((visibility("default"))) std::uint64_t probe_local() {
  return memtrace::record::python_local(&place_in);
}

__attribute__((visibility("default"))) void probe_local_of(std::size_t code, int place) {
  memtrace::record::add_group_call(reinterpret_cast<const void*>(code), place);
}

__attribute__((visibility("default"))) void probe_unnamed(bool some) {
  g_unnamed = some;
}

__attribute__((visibility("default"))) void probe_text_type(std::size_t type) {
  memtrace::record::python_text_type(reinterpret_cast<const void*>(type));
}

// Walks as often as asked, into one buffer: what a walk costs.
__attribute__((visibility("default"))) std::size_t probe_walk(std::size_t times) {
  static memtrace::record::PythonFrame frames[4096];
  std::size_t count = 0;
  for (std::size_t i = 0; i < times; ++i) count = memtrace::record::python_walk(frames, 4096);
  return count;
}

// Would an interpreter that says this of itself be walked?
__attribute__((visibility("default"))) bool probe_attach(const char* version, const void* runtime) {
  auto* state = reinterpret_cast<void* (*)()>(dlsym(RTLD_DEFAULT, "PyGILState_GetThisThreadState"));
  return memtrace::record::python_attach({state, version, runtime});
}

// What tells the innermost frame but one from all others, past and present. Its size, 0 if there is none.
__attribute__((visibility("default"))) std::size_t probe_identity(void* out) {
  memtrace::record::PythonFrame frames[2];
  if (memtrace::record::python_walk(frames, 2) != 2) return 0;
  std::memcpy(out, &frames[1], sizeof(frames[1]));
  return sizeof(frames[1]);
}

} // extern "C"
