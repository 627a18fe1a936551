// Purpose: the module `_memtrace`, by which the bootstrap reports to the recorder.
// Runs: on the program's thread, under the GIL, never inside malloc.
#include "preload/hooks/python/python_module.h"

#include <dlfcn.h>

#include <cstring>

#include "preload/device/device_blocks.h"
#include "preload/device/nccl_blocks.h"
#include "preload/format/records.h"
#include "preload/hooks/python/embedded_code.h"
#include "preload/marks/framework_facts.h"
#include "preload/marks/phase_marks.h"
#include "preload/os/libc/libc_table.h"
#include "preload/os/paths.h"
#include "preload/record/model_modules.h"
#include "preload/record/process_groups.h"
#include "preload/record/stack_capture.h"
#include "preload/stack/python_collector.h"
#include "preload/stack/python_frames.h"
#include "preload/stack/python_layouts.h"

#include "preload/os/gate/forbidden.h"

namespace memtrace::hooks {
namespace {

constexpr int kMaxName = 200;    // the bytes of a phase's name that the recorder keeps
constexpr int kMaxVersion = 120; // the bytes of Py_GetVersion() in a note

struct PythonText {
  const char* data = "";
  std::size_t bytes = 0;
};

// The bootstrap passes its own str objects. They are ASCII, so this fails only if the caller passes another
// type.
PythonText text_of(Object* object) {
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

// Returns a result that the bootstrap ignores. A bool needs no lookup of a symbol such as _Py_NoneStruct, and
// no reference count.
Object* done() {
  return g_python.PyBool_FromLong(1);
}

Object* begin(Object*, Object* const* args, Ssize count) {
  if (count > 0) {
    PythonText name = text_of(args[0]);
    record::phase_begin(name.data, name.bytes, static_cast<std::uint16_t>(count > 1 ? number_of(args[1]) : 0));
  }
  return done();
}

// Returns True if pinned memory is held: then the bootstrap queries its allocator how much is in use.
Object* end(Object*, Object* const* args, Ssize count) {
  if (count > 0) {
    PythonText name = text_of(args[0]);
    record::phase_end(name.data, name.bytes, static_cast<std::uint16_t>(count > 1 ? number_of(args[1]) : 0));
  }
  return g_python.PyBool_FromLong(record::pinned_memory_is_held() ? 1 : 0);
}

Object* pinned(Object*, Object* const* args, Ssize count) { // bytes in use, bytes held
  if (count < 2) return done();
  record::pinned_use(number_of(args[0]), number_of(args[1]));
  return done();
}

Object* label(Object*, Object* const* args, Ssize count) { // address, bytes, role, name, memory, module
  if (count < 6) return done();
  const void* const address = reinterpret_cast<const void*>(number_of(args[0]));
  record::label(address, number_of(args[1]), text_of(args[2]).data, text_of(args[3]).data,
                static_cast<unsigned>(number_of(args[4])), text_of(args[5]).data);
  return done();
}

// modules({id: path}): names the modules of all models, and no others.
Object* modules(Object*, Object* const* args, Ssize count) {
  if (count < 1) return done();
  record::forget_modules();
  Object* self = nullptr;
  Object* path = nullptr;
  for (Ssize at = 0; g_python.PyDict_Next(args[0], &at, &self, &path) != 0;) {
    const PythonText text = text_of(path);
    record::note_module_path(reinterpret_cast<const void*>(number_of(self)), text.data, text.bytes);
  }
  return done();
}

// module_call(code): tells the walk of frames which function calls modules.
Object* module_call(Object*, Object* const* args, Ssize count) {
  if (count > 0) record::python_module_call(args[0]);
  return done();
}

// group_call(code, place, str): a function that has a process group, or the name of one, in its local variable
// there.
Object* group_call(Object*, Object* const* args, Ssize count) {
  if (count < 3) return done();
  record::python_text_type(args[2]);
  record::add_group_call(args[0], static_cast<int>(number_of(args[1])));
  return done();
}

// groups({id or name: text}): names the process groups, and no others.
Object* groups(Object*, Object* const* args, Ssize count) {
  if (count < 1) return done();
  record::forget_groups();
  Object* group = nullptr;
  Object* name = nullptr;
  for (Ssize at = 0; g_python.PyDict_Next(args[0], &at, &group, &name) != 0;) {
    const PythonText text = text_of(name);
    const PythonText key = text_of(group);
    const std::uint64_t known = key.bytes != 0 ? record::text_key(key.data, key.bytes) : number_of(group);
    record::note_group_name(known, text.data, text.bytes);
  }
  record::label_waiting_nccl_blocks();
  return done();
}

// has_new_group_blocks(): True if NCCL took memory since the groups were named last.
Object* has_new_group_blocks(Object*, Object* const*, Ssize) {
  return g_python.PyBool_FromLong(record::has_new_group_blocks() ? 1 : 0);
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
  PythonText name = count > 0 ? text_of(args[0]) : PythonText{};
  return g_python.PyBool_FromLong(record::phase_inside(name.data, name.bytes) ? 1 : 0);
}

bool same(const char* name, std::size_t bytes, const char* other) {
  return bytes == std::strlen(other) && std::memcmp(name, other, bytes) == 0;
}

// True if a module call is now part of an operation that has its own phase. The bootstrap calls it at every
// call of every layer. In backward and in an optimizer's closure the result is false, whatever phases are
// around them.
Object* nested(Object*, Object* const*, Ssize) {
  constexpr const char* kOwners[] = {"forward", "eval",    "recompute", "generate", "data",       "save",
                                     "init",    "rollout", "sleep",     "wake",     "weight_sync"};
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
    PythonText name = text_of(dtype);
    record::parameter_dtype(name.data, name.bytes, number_of(numbers));
  }
  return done();
}

Object* note(Object*, Object* const* args, Ssize count) {
  PythonText text = count > 0 ? text_of(args[0]) : PythonText{};
  if (text.bytes > 0) record::note(text.data, text.bytes);
  return done();
}

Object* first_item(Object*, Object* const*, Ssize) {
  record::note_copied_at_first_item();
  return done();
}

// Writes "python=unsupported 3.14.0": the stacks of this process are native only.
void note_unsupported() {
  constexpr char kKey[] = "python=unsupported ";
  char text[sizeof(kKey) + kMaxVersion];
  std::memcpy(text, kKey, sizeof(kKey));
  const char* version = g_python.Py_GetVersion();
  std::size_t bytes = strnlen(version, kMaxVersion);
  std::memcpy(text + sizeof(kKey) - 1, version, bytes);
  record::note(text, sizeof(kKey) - 1 + bytes);
}

// run_wrappers(dict of the bootstrap): raises the error of a file that cannot be compiled or run.
Object* run_wrappers_in(Object*, Object* const* args, Ssize count) {
  return count > 0 && run_wrappers(args[0]) ? done() : nullptr;
}

// prepare_by(function): has `function` called before the program adds an audit hook.
Object* prepare_before_hooks(Object*, Object* const* args, Ssize count) {
  if (count > 0) prepare_by(args[0]);
  return done();
}

// attach(code of the caller): starts the walk of frames if it finds the caller. A vendor's interpreter may
// report a known version and still have another layout.
Object* attach(Object*, Object* const* args, Ssize count) {
  record::PythonSymbols symbols{g_python.PyGILState_GetThisThreadState, g_python.Py_GetVersion(),
                                dlsym(RTLD_DEFAULT, "_PyRuntime")};
  bool known = dlsym(RTLD_DEFAULT, record::kTraceRefsFunction) == nullptr && record::python_attach(symbols);
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

// collector(id of gc.garbage, id of gc.callbacks): finds the collector. Returns True if it did.
Object* collector(Object*, Object* const* args, Ssize count) {
  if (count < 2) return g_python.PyBool_FromLong(0);
  const auto object = [args](Ssize i) { return reinterpret_cast<const void*>(number_of(args[i])); };
  const record::CollectorSymbols symbols{g_python.PyInterpreterState_Get(),
                                         g_python.PyGILState_GetThisThreadState, g_python.Py_GetVersion()};
  return g_python.PyBool_FromLong(record::python_find_collector(symbols, object(0), object(1)) ? 1 : 0);
}

Object* detach(Object*, Object* const*, Ssize) {
  forget_preparation();
  record::python_forget_collector();
  record::python_detach();
  return done();
}

// Calls both functions of then(), and returns the result of the first; self is (call, after). A C function
// leaves no frame in a traceback.
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

// then(call, after): returns a callable that runs `call` and then, if that raised nothing, `after`, whose
// errors are dropped.
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
    {"begin", begin, kFastCall, nullptr},
    {"end", end, kFastCall, nullptr},
    {"current", current, kFastCall, nullptr},
    {"inside", inside, kFastCall, nullptr},
    {"nested", nested, kFastCall, nullptr},
    {"step", step, kFastCall, nullptr},
    {"note", note, kFastCall, nullptr},
    {"parameters", parameters, kFastCall, nullptr},
    {"run_wrappers", run_wrappers_in, kFastCall, nullptr},
    {"prepare_by", prepare_before_hooks, kFastCall, nullptr},
    {"attach", attach, kFastCall, nullptr},
    {"detach", detach, kFastCall, nullptr},
    {"then", then, kFastCall, nullptr},
    {"pinned", pinned, kFastCall, nullptr},
    {"label", label, kFastCall, nullptr},
    {"collector", collector, kFastCall, nullptr},
    {"modules", modules, kFastCall, nullptr},
    {"module_call", module_call, kFastCall, nullptr},
    {"group_call", group_call, kFastCall, nullptr},
    {"groups", groups, kFastCall, nullptr},
    {"has_new_group_blocks", has_new_group_blocks, kFastCall, nullptr},
    {"first_item", first_item, kFastCall, nullptr},
};

// Writes to `path` the file `inside` of the folder of this library. Returns its length, or 0 if it is not
// there.
std::size_t path_inside(const char* library, const char* inside, char (&path)[4096]) {
  const auto folder = static_cast<std::size_t>(std::strrchr(library, '/') + 1 - library);
  const std::size_t bytes = std::strlen(inside);
  if (folder + bytes >= sizeof(path)) return 0;
  std::memcpy(path, library, folder);
  std::memcpy(path + folder, inside, bytes + 1);
  return record::os::exists(path) ? folder + bytes : 0;
}

// Returns the path of the package `memtrace` that belongs to this library. Returns "" if it is not there, or if
// the path is not UTF-8.
Object* package_path() {
  constexpr const char* kPlaces[] = {"memtrace/python/memtrace/__init__.py", // lib/ of an install tree
                                     "../../memtrace/__init__.py"};          // memtrace/lib/ of a wheel
  char path[4096];
  Dl_info self{};
  std::size_t bytes = 0;
  if (record::libc.dladdr(reinterpret_cast<const void*>(&package_path), &self) != 0 &&
      self.dli_fname[0] == '/') {
    for (const char* place : kPlaces)
      if (bytes == 0) bytes = path_inside(self.dli_fname, place, path);
  }
  Object* text = g_python.PyUnicode_FromStringAndSize(path, static_cast<Ssize>(bytes));
  if (text == nullptr) {
    g_python.PyErr_Clear();
    text = g_python.PyUnicode_FromString("");
  }
  return text;
}

} // namespace

bool fill_module(Object* module, const char* mode) {
  for (MethodDef& method : g_methods) {
    if (!set_attribute(module, method.name, g_python.PyCFunction_NewEx(&method, nullptr, nullptr)))
      return false;
  }
  return set_attribute(module, "mode", g_python.PyUnicode_FromString(mode)) &&
         set_attribute(module, "package", package_path());
}

} // namespace memtrace::hooks
