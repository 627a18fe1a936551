// Purpose: the functions of the interpreter that memtrace calls, found by name.
// Runs: on the program's thread, under the GIL, never inside malloc.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memtrace::hooks {

// The build needs no Python.h: these few types are part of the stable ABI.
struct Object; // PyObject
using Ssize = std::intptr_t;
using FastCall = Object* (*)(Object* self, Object* const* args, Ssize count);
struct MethodDef {
  const char* name;
  FastCall call;
  int flags;
  const char* doc;
};
constexpr int kFastCall = 0x80; // METH_FASTCALL
// PyMemAllocatorEx, and the domain PYMEM_DOMAIN_RAW.
struct Allocator {
  void* context;
  void* (*malloc)(void*, std::size_t);
  void* (*calloc)(void*, std::size_t, std::size_t);
  void* (*realloc)(void*, void*, std::size_t);
  void (*free)(void*, void*);
};
using AuditHook = int (*)(const char* event, Object* args, void* user);

// One list: the member, which is also the name for dlsym. All are functions of Python 3.9 and later.
#define PYTHON_FUNCTIONS(F)                                                   \
  F(int, Py_IsInitialized, ())                                                \
  F(const char*, Py_GetVersion, ())                                           \
  F(void*, PyGILState_GetThisThreadState, ())                                 \
  F(void*, PyInterpreterState_Get, ())                                        \
  F(void, PyErr_Fetch, (Object**, Object**, Object**))                        \
  F(void, PyErr_Restore, (Object*, Object*, Object*))                         \
  F(void, PyErr_Clear, ())                                                    \
  F(void, PyErr_SetString, (Object*, const char*))                            \
  F(Object*, Py_CompileStringObject, (const char*, Object*, int, void*, int)) \
  F(Object*, PyEval_EvalCode, (Object*, Object*, Object*))                    \
  F(Object*, PyEval_GetBuiltins, ())                                          \
  F(Object*, PyModule_New, (const char*))                                     \
  F(Object*, PyCFunction_NewEx, (MethodDef*, Object*, Object*))               \
  F(int, PyObject_SetAttrString, (Object*, const char*, Object*))             \
  F(Object*, PyObject_CallObject, (Object*, Object*))                         \
  F(Object*, PyDict_New, ())                                                  \
  F(int, PyDict_SetItemString, (Object*, const char*, Object*))               \
  F(int, PyDict_Next, (Object*, Ssize*, Object**, Object**))                  \
  F(Object*, PyTuple_New, (Ssize))                                            \
  F(int, PyTuple_SetItem, (Object*, Ssize, Object*))                          \
  F(Object*, PyTuple_GetItem, (Object*, Ssize))                               \
  F(Object*, PyBool_FromLong, (long))                                         \
  F(unsigned long long, PyLong_AsUnsignedLongLongMask, (Object*))             \
  F(const char*, PyUnicode_AsUTF8AndSize, (Object*, Ssize*))                  \
  F(Object*, PyUnicode_FromStringAndSize, (const char*, Ssize))               \
  F(Object*, PyUnicode_FromString, (const char*))                             \
  F(void, PyMem_GetAllocator, (int, Allocator*))                              \
  F(void, PyMem_SetAllocator, (int, Allocator*))                              \
  F(void, Py_IncRef, (Object*))                                               \
  F(void, Py_DecRef, (Object*))

struct Python {
#define F(result, name, parameters) result(*name) parameters;
  PYTHON_FUNCTIONS(F)
#undef F
};

// The functions are valid after find_python() returned true.
extern constinit Python g_python;
bool find_python();

// Sets the attribute, and drops the reference to `value`. Returns false, with Python's error set, if `value` is
// null or the attribute cannot be set.
bool set_attribute(Object* object, const char* name, Object* value);

} // namespace memtrace::hooks
