// Purpose: the functions of the interpreter that memtrace calls, found by name.
// Runs: on the program's thread, under the GIL, never inside malloc.
#include "preload/hooks/python/python_api.h"

#include <dlfcn.h>

#include "preload/os/gate/forbidden.h"

namespace memtrace::hooks {

constinit Python g_python{};

bool find_python() {
  bool all = true;
#define F(result, name, parameters)                                                   \
  g_python.name = reinterpret_cast<result(*) parameters>(dlsym(RTLD_DEFAULT, #name)); \
  all = all && g_python.name != nullptr;
  PYTHON_FUNCTIONS(F)
#undef F
  return all;
}

bool set_attribute(Object* object, const char* name, Object* value) {
  if (value == nullptr) return false;
  bool done = g_python.PyObject_SetAttrString(object, name, value) == 0;
  g_python.Py_DecRef(value);
  return done;
}

} // namespace memtrace::hooks
