// Room: hooks. Runs on the victim's thread, under the GIL, never inside malloc.
// Job: an audit hook that waits for the interpreter, then runs the embedded bootstrap in it.
#include "hooks/python.h"

#include <dlfcn.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "format/event.h"
#include "record/os.h"
#include "record/phases.h"
#include "record/python_arenas.h"
#include "record/python_frames.h"
#include "record/stack.h"

#include "record/forbidden.h"

extern "C" {
extern const char memtrace_bootstrap_source[];
extern const char memtrace_bootstrap_source_end[];
}

namespace memtrace::hooks {
namespace {

// Python.h is not needed to build: these few shapes are part of the stable ABI.
struct Object; // PyObject
using Ssize = std::intptr_t;
using FastCall = Object* (*)(Object* self, Object* const* args, Ssize count);
struct MethodDef {
  const char* name;
  FastCall call;
  int flags;
  const char* doc;
};
constexpr int kFastCall = 0x80;  // METH_FASTCALL
constexpr int kFileInput = 257;  // Py_file_input
constexpr int kMaxName = 200;    // what the recorder keeps of a phase's name
constexpr int kMaxVersion = 120; // of Py_GetVersion() in a note
// PyMemAllocatorEx, and the domain PYMEM_DOMAIN_RAW.
struct Allocator {
  void* context;
  void* (*malloc)(void*, std::size_t);
  void* (*calloc)(void*, std::size_t, std::size_t);
  void* (*realloc)(void*, void*, std::size_t);
  void (*free)(void*, void*);
};
constexpr int kRawDomain = 0;
using AuditHook = int (*)(const char* event, Object* args, void* user);

// One list: the member, and the name that dlsym is asked for. All are functions, of 3.9 and later.
#define PYTHON_FUNCTIONS(F)                                       \
  F(int, Py_IsInitialized, ())                                    \
  F(const char*, Py_GetVersion, ())                               \
  F(void*, PyGILState_GetThisThreadState, ())                     \
  F(void, PyErr_Fetch, (Object**, Object**, Object**))            \
  F(void, PyErr_Restore, (Object*, Object*, Object*))             \
  F(void, PyErr_Clear, ())                                        \
  F(void, PyErr_SetString, (Object*, const char*))                \
  F(Object*, Py_CompileString, (const char*, const char*, int))   \
  F(Object*, PyEval_EvalCode, (Object*, Object*, Object*))        \
  F(Object*, PyEval_GetBuiltins, ())                              \
  F(Object*, PyModule_New, (const char*))                         \
  F(Object*, PyCFunction_NewEx, (MethodDef*, Object*, Object*))   \
  F(int, PyObject_SetAttrString, (Object*, const char*, Object*)) \
  F(Object*, PyObject_CallObject, (Object*, Object*))             \
  F(Object*, PyDict_New, ())                                      \
  F(int, PyDict_SetItemString, (Object*, const char*, Object*))   \
  F(int, PyDict_Next, (Object*, Ssize*, Object**, Object**))      \
  F(Object*, PyTuple_New, (Ssize))                                \
  F(int, PyTuple_SetItem, (Object*, Ssize, Object*))              \
  F(Object*, PyTuple_GetItem, (Object*, Ssize))                   \
  F(Object*, PyBool_FromLong, (long))                             \
  F(unsigned long long, PyLong_AsUnsignedLongLongMask, (Object*)) \
  F(const char*, PyUnicode_AsUTF8AndSize, (Object*, Ssize*))      \
  F(Object*, PyUnicode_FromStringAndSize, (const char*, Ssize))   \
  F(Object*, PyUnicode_FromString, (const char*))                 \
  F(void, PyMem_GetAllocator, (int, Allocator*))                  \
  F(void, PyMem_SetAllocator, (int, Allocator*))                  \
  F(void, Py_IncRef, (Object*))                                   \
  F(void, Py_DecRef, (Object*))

struct Python {
#define F(result, name, parameters) result(*name) parameters;
  PYTHON_FUNCTIONS(F)
#undef F
};

constinit Python g_python{};
constinit const char* g_mode = nullptr;
constinit bool g_started = false;

bool resolve() {
  bool all = true;
#define F(result, name, parameters)                                                   \
  g_python.name = reinterpret_cast<result(*) parameters>(dlsym(RTLD_DEFAULT, #name)); \
  all = all && g_python.name != nullptr;
  PYTHON_FUNCTIONS(F)
#undef F
  return all;
}

// ---- What the bootstrap sees as `_memtrace`
// ------------------------------------------------------------------

struct Text {
  const char* data = "";
  std::size_t bytes = 0;
};

// The bootstrap's own str objects: ASCII, so that this cannot fail but for a caller's mistake.
Text text_of(Object* object) {
  Ssize bytes = 0;
  const char* data = g_python.PyUnicode_AsUTF8AndSize(object, &bytes);
  if (data == nullptr) {
    g_python.PyErr_Clear();
    return {};
  }
  return {data, static_cast<std::size_t>(bytes)};
}

std::uint64_t number_of(Object* object) {
  std::uint64_t value = g_python.PyLong_AsUnsignedLongLongMask(object);
  if (value == ~std::uint64_t{0}) g_python.PyErr_Clear();
  return value;
}

// Results that nobody uses: a bool comes without a symbol to look up and without a count to keep.
Object* done() {
  return g_python.PyBool_FromLong(1);
}

Object* begin(Object*, Object* const* args, Ssize count) {
  if (count > 0) {
    Text name = text_of(args[0]);
    record::phase_begin(name.data, name.bytes, static_cast<std::uint16_t>(count > 1 ? number_of(args[1]) : 0));
  }
  return done();
}

// True: there is pinned memory, and its allocator is to be asked how much of it is in use.
Object* end(Object*, Object* const* args, Ssize count) {
  if (count > 0) {
    Text name = text_of(args[0]);
    record::phase_end(name.data, name.bytes, static_cast<std::uint16_t>(count > 1 ? number_of(args[1]) : 0));
  }
  return g_python.PyBool_FromLong(record::pinned_memory_is_held() ? 1 : 0);
}

Object* pinned(Object*, Object* const* args, Ssize count) { // bytes in use, bytes held
  if (count < 2) return done();
  record::pinned_use(number_of(args[0]), number_of(args[1]));
  return done();
}

Object* label(Object*, Object* const* args, Ssize count) { // address, bytes, role, name, memory
  if (count < 5) return done();
  const void* const address = reinterpret_cast<const void*>(number_of(args[0]));
  record::label(address, number_of(args[1]), text_of(args[2]).data, text_of(args[3]).data,
                static_cast<unsigned>(number_of(args[4])));
  return done();
}

Object* current(Object*, Object* const*, Ssize) {
  char name[kMaxName];
  std::size_t bytes = record::phase_current(name, sizeof(name));
  Object* text = g_python.PyUnicode_FromStringAndSize(name, static_cast<Ssize>(bytes));
  if (text != nullptr) return text;
  g_python.PyErr_Clear(); // a user's name that is not UTF-8
  return g_python.PyUnicode_FromString("?");
}

Object* inside(Object*, Object* const* args, Ssize count) {
  Text name = count > 0 ? text_of(args[0]) : Text{};
  return g_python.PyBool_FromLong(record::phase_inside(name.data, name.bytes) ? 1 : 0);
}

bool same(const char* name, std::size_t bytes, const char* other) {
  return bytes == std::strlen(other) && std::memcmp(name, other, bytes) == 0;
}

// Is a module call now part of something that has its phase? Asked at every call of every layer. In backward
// and in an optimizer's closure it is not, whatever is around them.
Object* nested(Object*, Object* const*, Ssize) {
  constexpr const char* kOwners[] = {"forward", "eval", "recompute", "generate", "data", "save", "init"};
  constexpr const char* kOpen[] = {"backward", "step"};
  char name[kMaxName];
  std::size_t bytes = record::phase_current(name, sizeof(name));
  if (bytes == 0) return g_python.PyBool_FromLong(0);
  for (const char* owner : kOwners) {
    if (same(name, bytes, owner)) return g_python.PyBool_FromLong(1);
  }
  for (const char* open : kOpen) {
    if (same(name, bytes, open)) return g_python.PyBool_FromLong(0);
  }
  for (const char* owner : kOwners) {
    if (record::phase_inside(owner, std::strlen(owner))) return g_python.PyBool_FromLong(1);
  }
  return g_python.PyBool_FromLong(0);
}

Object* step(Object*, Object* const* args, Ssize count) {
  if (count > 0) record::step_begin(number_of(args[0]));
  return done();
}

Object* parameters(Object*, Object* const* args,
                   Ssize count) { // count, trainable, bytes, tensors, {dtype: count}
  if (count < 5) return done();
  record::parameters(number_of(args[0]), number_of(args[1]), number_of(args[2]), number_of(args[3]));
  Object* dtype = nullptr;
  Object* numbers = nullptr;
  for (Ssize at = 0; g_python.PyDict_Next(args[4], &at, &dtype, &numbers) != 0;) {
    Text name = text_of(dtype);
    record::parameter_dtype(name.data, name.bytes, number_of(numbers));
  }
  return done();
}

Object* note(Object*, Object* const* args, Ssize count) {
  Text text = count > 0 ? text_of(args[0]) : Text{};
  if (text.bytes > 0) record::note(text.data, text.bytes);
  return done();
}

// "python=unsupported 3.14.0": stacks of this process are native only.
void note_unsupported() {
  constexpr char kKey[] = "python=unsupported ";
  char text[sizeof(kKey) + kMaxVersion];
  std::memcpy(text, kKey, sizeof(kKey));
  const char* version = g_python.Py_GetVersion();
  std::size_t bytes = strnlen(version, kMaxVersion);
  std::memcpy(text + sizeof(kKey) - 1, version, bytes);
  record::note(text, sizeof(kKey) - 1 + bytes);
}

// attach(code of the caller): starts the walk of frames, if it finds the caller. A vendor's interpreter may say
// a version that we know and have another layout.
Object* attach(Object*, Object* const* args, Ssize count) {
  record::PythonSymbols symbols{g_python.PyGILState_GetThisThreadState, g_python.Py_GetVersion(),
                                dlsym(RTLD_DEFAULT, "_PyRuntime")};
  // With Py_TRACE_REFS every object begins with two words more.
  bool known = dlsym(RTLD_DEFAULT, "_Py_AddToAllObjects") == nullptr && record::python_attach(symbols);
  record::PythonFrame frame{};
  if (known && (record::python_walk(&frame, 1) != 1 || count < 1 || frame.code != args[0])) {
    record::python_detach();
    known = false;
  }
  if (known) {
    record::python_hide(frame.file);
    record::hide_interpreter(reinterpret_cast<const void*>(g_python.Py_GetVersion));
  } else {
    note_unsupported();
  }
  return g_python.PyBool_FromLong(known ? 1 : 0);
}

Object* detach(Object*, Object* const*, Ssize) {
  record::python_detach();
  return done();
}

// What then() gives; self is (call, after). A function of C leaves no frame in a traceback.
Object* run_then(Object* self, Object* const* args, Ssize count) {
  Object* tuple = g_python.PyTuple_New(count);
  if (tuple == nullptr) return nullptr;
  for (Ssize i = 0; i < count; ++i) {
    g_python.Py_IncRef(args[i]);
    g_python.PyTuple_SetItem(tuple, i, args[i]);
  }
  Object* result = g_python.PyObject_CallObject(g_python.PyTuple_GetItem(self, 0), tuple);
  if (result != nullptr) {
    Object* ignored = g_python.PyObject_CallObject(g_python.PyTuple_GetItem(self, 1), tuple);
    if (ignored == nullptr) {
      g_python.PyErr_Clear();
    } else {
      g_python.Py_DecRef(ignored);
    }
  }
  g_python.Py_DecRef(tuple);
  return result;
}

constinit MethodDef g_run_then = {"exec_module", run_then, kFastCall, nullptr};

// then(call, after): a callable that does `call`, then, if that raised nothing, `after`, whose errors are
// dropped.
Object* then(Object*, Object* const* args, Ssize count) {
  Object* pair = g_python.PyTuple_New(2);
  if (pair == nullptr || count != 2) return pair;
  for (Ssize i = 0; i < 2; ++i) {
    g_python.Py_IncRef(args[i]);
    g_python.PyTuple_SetItem(pair, i, args[i]);
  }
  Object* callable = g_python.PyCFunction_NewEx(&g_run_then, pair, nullptr);
  g_python.Py_DecRef(pair);
  return callable;
}

constinit MethodDef g_methods[] = {
    {"begin", begin, kFastCall, nullptr},     {"end", end, kFastCall, nullptr},
    {"current", current, kFastCall, nullptr}, {"inside", inside, kFastCall, nullptr},
    {"nested", nested, kFastCall, nullptr},   {"step", step, kFastCall, nullptr},
    {"note", note, kFastCall, nullptr},       {"parameters", parameters, kFastCall, nullptr},
    {"attach", attach, kFastCall, nullptr},   {"detach", detach, kFastCall, nullptr},
    {"then", then, kFastCall, nullptr},       {"pinned", pinned, kFastCall, nullptr},
    {"label", label, kFastCall, nullptr},
};

// ---- Getting in --------------------------------------------------------------------------------------------

// Takes the reference. False, with Python's error set, when there is nothing to set or it cannot be.
bool set_attribute(Object* object, const char* name, Object* value) {
  if (value == nullptr) return false;
  bool done = g_python.PyObject_SetAttrString(object, name, value) == 0;
  g_python.Py_DecRef(value);
  return done;
}

// The package `memtrace` in an install tree: beside this library. Empty: not there, or not a name in UTF-8.
Object* package_path() {
  constexpr char kInside[] = "memtrace/python/memtrace/__init__.py";
  char path[4096];
  Dl_info self{};
  std::size_t bytes = 0;
  if (dladdr(reinterpret_cast<const void*>(&package_path), &self) != 0 && self.dli_fname[0] == '/') {
    bytes = static_cast<std::size_t>(std::strrchr(self.dli_fname, '/') + 1 - self.dli_fname);
    if (bytes + sizeof(kInside) > sizeof(path)) bytes = 0;
  }
  if (bytes != 0) {
    std::memcpy(path, self.dli_fname, bytes);
    std::memcpy(path + bytes, kInside, sizeof(kInside));
    bytes = record::os::exists(path) ? bytes + sizeof(kInside) - 1 : 0;
  }
  Object* text = g_python.PyUnicode_FromStringAndSize(path, static_cast<Ssize>(bytes));
  if (text == nullptr) {
    g_python.PyErr_Clear();
    text = g_python.PyUnicode_FromString("");
  }
  return text;
}

bool fill(Object* module) {
  for (MethodDef& method : g_methods) {
    if (!set_attribute(module, method.name, g_python.PyCFunction_NewEx(&method, nullptr, nullptr)))
      return false;
  }
  return set_attribute(module, "mode", g_python.PyUnicode_FromString(g_mode)) &&
         set_attribute(module, "package", package_path());
}

// The file name is seen in tracebacks of 3.9 and 3.10 only; why it reads so, see bootstrap.py.
bool run_bootstrap(Object* module) {
  Object* code =
      g_python.Py_CompileString(memtrace_bootstrap_source, "<memtrace importlib._bootstrap>", kFileInput);
  if (code == nullptr) return false;
  Object* globals = g_python.PyDict_New();
  Object* result = nullptr;
  if (globals != nullptr && g_python.PyDict_SetItemString(globals, "_memtrace", module) == 0 &&
      g_python.PyDict_SetItemString(globals, "__builtins__", g_python.PyEval_GetBuiltins()) == 0 &&
      set_attribute(module, "__doc__", g_python.PyUnicode_FromString("memtrace"))) {
    result = g_python.PyEval_EvalCode(code, globals, globals);
  }
  if (globals != nullptr) g_python.Py_DecRef(globals); // what the bootstrap left on sys.meta_path keeps it
  g_python.Py_DecRef(code);
  if (result != nullptr) g_python.Py_DecRef(result);
  return result != nullptr;
}

void note(const char* text) {
  record::note(text, std::strlen(text));
}

void install() {
  // First: compiling and running raise audit events too.
  if (__atomic_exchange_n(&g_started, true, __ATOMIC_ACQ_REL)) return;
  if (!resolve()) {
    note("python=unsupported (a function is missing)");
    return;
  }
  // We may be in the middle of anything, with an error pending.
  Object *type = nullptr, *value = nullptr, *traceback = nullptr;
  g_python.PyErr_Fetch(&type, &value, &traceback);
  Object* module = g_python.PyModule_New("_memtrace");
  if (module == nullptr || !fill(module) || !run_bootstrap(module)) {
    g_python.PyErr_Clear();
    note("python=bootstrap failed");
  }
  if (module != nullptr) g_python.Py_DecRef(module);
  g_python.PyErr_Restore(type, value, traceback);
}

// ---- Getting out -------------------------------------------------------------------------------------------

// CPython keeps the hook in a block of the raw allocator and frees it at the end. Ours is got before Python has
// read its options: with -X dev or PYTHONMALLOC=debug it is freed by another allocator than it came from, one
// that wants its own header before the block, and the process aborts in its last moment (3.9 to 3.13). So, when
// the two differ, one is put between that knows our block and steps aside.
int on_audit(const char* event, Object* args, void* user);

constinit Allocator g_first{}; // the raw allocator when the hook was added
constinit Allocator g_last{};  // the one that was between it and the end

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
  // The entry is {next, hook, user}; the smallest block of any malloc holds two words.
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

// About 8 events per training step, 17,000 in `import torch`. Never says no.
int on_audit(const char* event, Object*, void*) {
  int saved = errno;
  bool import = std::strcmp(event, "import") == 0;
  if (import) record::outside_hook();
  if (!__atomic_load_n(&g_started, __ATOMIC_ACQUIRE)) {
    // The first import with an interpreter is that of `site`; with -S it is the program that starts. A startup
    // file (PYTHONSTARTUP) runs before "run_stdin".
    if (import || (starts_with(event, "cpython.run_") && std::strcmp(event, "cpython.run_startup") != 0)) {
      auto* initialized = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "Py_IsInitialized"));
      if (initialized != nullptr && initialized() != 0) install();
    }
  } else if (std::strcmp(event, "cpython._PySys_ClearAuditHooks") == 0) {
    record::python_detach(); // where atexit was not to be had
    before_hooks_are_freed();
  }
  errno = saved;
  return 0;
}

// PyObjectArenaAllocator. Asking for it is legal before Py_Initialize; it is a function of CPython's own unless
// the program has set another.
void find_arenas() {
  struct ArenaAllocator {
    void* context;
    void* (*map)(void*, std::size_t);
    void (*unmap)(void*, void*, std::size_t);
  } arenas{};
  auto* get = reinterpret_cast<void (*)(ArenaAllocator*)>(dlsym(RTLD_DEFAULT, "PyObject_GetArenaAllocator"));
  if (get == nullptr) {
    dlerror();
    return;
  }
  get(&arenas);
  record::python_arenas_come_from(reinterpret_cast<const void*>(arenas.map));
}

} // namespace

// Legal before Py_Initialize. A libpython that is loaded later, by an embedder's dlopen, is not found: such a
// process has native stacks and the marks of C and NVTX.
void python_start(const char* mode) {
  g_mode = mode;
  auto* add = reinterpret_cast<int (*)(AuditHook, void*)>(dlsym(RTLD_DEFAULT, "PySys_AddAuditHook"));
  auto* allocator = reinterpret_cast<void (*)(int, Allocator*)>(dlsym(RTLD_DEFAULT, "PyMem_GetAllocator"));
  find_arenas();
  if (add != nullptr && allocator != nullptr) {
    allocator(kRawDomain, &g_first);
    add(on_audit, nullptr);
  } else {
    dlerror(); // a miss leaves a message that the program would find
  }
}

} // namespace memtrace::hooks
