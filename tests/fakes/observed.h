// Purpose: each call counted, and shown to the observer with its arguments laid out as CUPTI lays them out.
// Inside the fake libcuda.so.1.
#pragma once

#include <cstring>
#include <type_traits>

#include "tests/fakes/driver.h"

namespace fake {

template <class... A>
struct Parameters {};
template <class A>
struct Parameters<A> {
  A a;
};
template <class A, class B>
struct Parameters<A, B> {
  A a;
  B b;
};
template <class A, class B, class C>
struct Parameters<A, B, C> {
  A a;
  B b;
  C c;
};
template <class A, class B, class C, class D>
struct Parameters<A, B, C, D> {
  A a;
  B b;
  C c;
  D d;
};
template <class A, class B, class C, class D, class E>
struct Parameters<A, B, C, D, E> {
  A a;
  B b;
  C c;
  D d;
  E e;
};
template <class A, class B, class C, class D, class E, class F>
struct Parameters<A, B, C, D, E, F> {
  A a;
  B b;
  C c;
  D d;
  E e;
  F f;
};

inline Observer observer = nullptr;
struct Count {
  const char* name;
  int calls;
};
inline Count counts[256] = {};

inline void count(const char* name) {
  for (Count& entry : counts) {
    if (entry.name == nullptr) entry.name = name;
    if (std::strcmp(entry.name, name) != 0) continue;
    __atomic_add_fetch(&entry.calls, 1, __ATOMIC_RELAXED);
    return;
  }
}

template <class... A>
int observed(const char* name, int (*call)(A...), std::type_identity_t<A>... arguments) {
  count(name);
  const Parameters<A...> parameters{arguments...};
  if (observer != nullptr) observer(0, name, &parameters, nullptr);
  const int result = call(arguments...);
  if (observer != nullptr) observer(1, name, &parameters, &result);
  return result;
}

} // namespace fake
