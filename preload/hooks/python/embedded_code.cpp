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

} // namespace memtrace::hooks
