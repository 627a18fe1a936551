// Purpose: runs the embedded Python files in the traced interpreter.
// Runs: on the program's thread, under the GIL, never inside malloc.
#include "preload/hooks/python/embedded_code.h"

#include "preload/os/gate/forbidden.h"

extern "C" {
extern const char memtrace_bootstrap_source[];
extern const char memtrace_wrappers_source[];
}

namespace memtrace::hooks {
namespace {

constexpr int kFileInput = 257;    // Py_file_input
constexpr int kAsInterpreter = -1; // the level of optimization

// One object for all code: the walk of frames hides frames by it. It is never freed.
constinit Object* file_name = nullptr;

// The bootstrap's function that runs the wrappers, and the interpreter that it belongs to.
constinit Object* prepare = nullptr;
constinit void* prepared_interpreter = nullptr;

// Only tracebacks of 3.9 and 3.10 show the file name. bootstrap.py gives the reason for its form.
bool run(const char* source, Object* globals) {
  if (file_name == nullptr)
    file_name = g_python.PyUnicode_FromString("<frozen importlib._bootstrap for memtrace>");
  if (file_name == nullptr) return false;
  Object* code = g_python.Py_CompileStringObject(source, file_name, kFileInput, nullptr, kAsInterpreter);
  if (code == nullptr) return false;
  Object* result = g_python.PyEval_EvalCode(code, globals, globals);
  g_python.Py_DecRef(code);
  if (result != nullptr) g_python.Py_DecRef(result);
  return result != nullptr;
}

} // namespace

bool run_bootstrap(Object* globals) {
  return run(memtrace_bootstrap_source, globals);
}

bool run_wrappers(Object* globals) {
  return run(memtrace_wrappers_source, globals);
}

void prepare_by(Object* function) {
  forget_preparation();
  g_python.Py_IncRef(function);
  prepared_interpreter = g_python.PyInterpreterState_Get();
  prepare = function;
}

void forget_preparation() {
  Object* const before = prepare;
  prepare = nullptr;
  if (before != nullptr) g_python.Py_DecRef(before);
}

void prepare_now() {
  if (prepare == nullptr || g_python.PyGILState_GetThisThreadState() == nullptr ||
      g_python.PyInterpreterState_Get() != prepared_interpreter)
    return;
  Object *type = nullptr, *value = nullptr, *traceback = nullptr;
  g_python.PyErr_Fetch(&type, &value, &traceback);
  Object* const function = prepare;
  prepare = nullptr;
  Object* const result = g_python.PyObject_CallObject(function, nullptr);
  if (result == nullptr) g_python.PyErr_Clear();
  if (result != nullptr) g_python.Py_DecRef(result);
  g_python.Py_DecRef(function);
  g_python.PyErr_Restore(type, value, traceback);
}

} // namespace memtrace::hooks
