// Purpose: an audit hook that waits for the interpreter to start, then runs the embedded bootstrap in it.
// Runs: on the program's thread, under the GIL, never inside malloc.
#include "preload/hooks/python/interpreter_startup.h"

#include <dlfcn.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "preload/allocator/pymalloc_arenas.h"
#include "preload/hooks/python/embedded_code.h"
#include "preload/hooks/python/python_module.h"
#include "preload/marks/framework_facts.h"
#include "preload/marks/phase_marks.h"
#include "preload/os/libc/elf_tables.h"
#include "preload/stack/python_frames.h"

#include "preload/os/gate/forbidden.h"

namespace memtrace::hooks {
namespace {

constexpr int kRawDomain = 0;

constinit const char* g_mode = nullptr;
constinit bool g_started = false;

// ---- Start -------------------------------------------------------------------------------------------------

bool run_in_own_dict(Object* module) {
  Object* globals = g_python.PyDict_New();
  const bool ran = globals != nullptr && g_python.PyDict_SetItemString(globals, "_memtrace", module) == 0 &&
                   g_python.PyDict_SetItemString(globals, "__builtins__", g_python.PyEval_GetBuiltins()) == 0 &&
                   set_attribute(module, "__doc__", g_python.PyUnicode_FromString("memtrace")) &&
                   run_bootstrap(globals);
  // The object that the bootstrap left on sys.meta_path keeps these alive.
  if (globals != nullptr) g_python.Py_DecRef(globals);
  return ran;
}

void note(const char* text) {
  record::note(text, std::strlen(text));
}

void install() {
  // Set first, because compiling and running raise audit events too.
  if (__atomic_exchange_n(&g_started, true, __ATOMIC_ACQ_REL)) return;
  if (!find_python()) {
    note("python=unsupported (a function is missing)");
    return;
  }
  // The event may come at any point of the program, with an error pending.
  Object *type = nullptr, *value = nullptr, *traceback = nullptr;
  g_python.PyErr_Fetch(&type, &value, &traceback);
  Object* module = g_python.PyModule_New("_memtrace");
  if (module == nullptr || !fill_module(module, g_mode) || !run_in_own_dict(module)) {
    g_python.PyErr_Clear();
    note("python=bootstrap failed");
  }
  if (module != nullptr) g_python.Py_DecRef(module);
  g_python.PyErr_Restore(type, value, traceback);
}

// ---- End ---------------------------------------------------------------------------------------------------

// CPython keeps an audit hook in a block of the raw allocator and frees it at the end. memtrace's hook is added
// before Python has read its options. With -X dev or PYTHONMALLOC=debug, another allocator then frees the
// block. That allocator expects its own header before the block, and the process aborts at its end (3.9 to
// 3.13). So, if the two allocators differ, one is put between that recognises the block, frees it correctly and
// removes itself.
int on_audit(const char* event, Object* args, void* user);

constinit Allocator g_first{}; // the raw allocator when the hook was added
constinit Allocator g_last{};  // the raw allocator at the end

void* last_malloc(void*, std::size_t bytes) {
  return g_last.malloc(g_last.context, bytes);
}
void* last_calloc(void*, std::size_t count, std::size_t bytes) {
  return g_last.calloc(g_last.context, count, bytes);
}
void* last_realloc(void*, void* block, std::size_t bytes) {
  return g_last.realloc(g_last.context, block, bytes);
}
void last_free(void*, void* block) {
  // The entry is {next, hook, user}. The smallest block of any malloc holds two words, so the read is safe.
  AuditHook hook = nullptr;
  if (block != nullptr) std::memcpy(&hook, static_cast<char*>(block) + sizeof(void*), sizeof(hook));
  if (hook != on_audit) {
    g_last.free(g_last.context, block);
    return;
  }
  g_first.free(g_first.context, block);
  g_python.PyMem_SetAllocator(kRawDomain, &g_last);
}

void before_hooks_are_freed() {
  if (g_python.PyMem_SetAllocator == nullptr || g_first.free == nullptr) return;
  g_python.PyMem_GetAllocator(kRawDomain, &g_last);
  if (g_last.free == g_first.free) return;
  Allocator between{nullptr, last_malloc, last_calloc, last_realloc, last_free};
  g_python.PyMem_SetAllocator(kRawDomain, &between);
}

bool starts_with(const char* text, const char* with) {
  return std::strncmp(text, with, std::strlen(with)) == 0;
}

// About 8 events per training step, 17,000 in `import torch`. Never refuses an event.
int on_audit(const char* event, Object*, void*) {
  int saved = errno;
  bool import = std::strcmp(event, "import") == 0;
  if (import) record::outside_hook();
  if (!__atomic_load_n(&g_started, __ATOMIC_ACQUIRE)) {
    // The first import in a started interpreter is that of `site`; with -S the first event is the start of the
    // program. A startup file (PYTHONSTARTUP) runs before "run_stdin".
    if (import || (starts_with(event, "cpython.run_") && std::strcmp(event, "cpython.run_startup") != 0)) {
      auto* initialized = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "Py_IsInitialized"));
      if (initialized != nullptr && initialized() != 0) install();
    }
  } else if (std::strcmp(event, "sys.addaudithook") == 0) {
    prepare_now(); // the program's hook would see that the wrappers are compiled
  } else if (std::strcmp(event, "cpython._PySys_ClearAuditHooks") == 0) {
    record::python_detach(); // for an interpreter without atexit
    before_hooks_are_freed();
  }
  errno = saved;
  return 0;
}

void* function(const char* name) {
  return record::function_from(record::first_object(), name);
}

// PyObjectArenaAllocator. The query is legal before Py_Initialize. The function is CPython's own unless the
// program has set another.
void find_arenas() {
  struct ArenaAllocator {
    void* context;
    void* (*map)(void*, std::size_t);
    void (*unmap)(void*, void*, std::size_t);
  } arenas{};
  auto* get = reinterpret_cast<void (*)(ArenaAllocator*)>(function("PyObject_GetArenaAllocator"));
  if (get == nullptr) return;
  get(&arenas);
  record::python_arenas_come_from(reinterpret_cast<const void*>(arenas.map));
}

int install_late(void*) {
  install();
  return 0;
}

} // namespace

// Legal before Py_Initialize. A libpython that an embedder loads later by dlopen is not found: such a process
// has native stacks and the marks of C and NVTX.
void python_start(const char* mode) {
  g_mode = mode;
  auto* add = reinterpret_cast<int (*)(AuditHook, void*)>(function("PySys_AddAuditHook"));
  auto* allocator = reinterpret_cast<void (*)(int, Allocator*)>(function("PyMem_GetAllocator"));
  if (add == nullptr || allocator == nullptr) return;
  find_arenas();
  allocator(kRawDomain, &g_first);
  add(on_audit, nullptr);
}

void python_prepare(const char* mode) {
  g_mode = mode;
  find_arenas();
}

// A pending call needs neither the GIL nor memory. If the queue is full, the process has no phases.
void python_start_late() {
  auto* initialized = reinterpret_cast<int (*)()>(function("Py_IsInitialized"));
  auto* add = reinterpret_cast<int (*)(int (*)(void*), void*)>(function("Py_AddPendingCall"));
  if (initialized == nullptr || add == nullptr || initialized() == 0) return;
  if (add(&install_late, nullptr) != 0) note("python=no pending call");
}

} // namespace memtrace::hooks
