// Purpose: run the fake PyTorch; print what reached the library.
// A victim: linked against what needs libc10.so, or opening it RTLD_LOCAL as Python opens torch.
#include <cstdio>

#include <dlfcn.h>

#include "tests/fakes/c10.h"

#ifndef OPENED
extern "C" void fake_torch_run();
extern "C" void fake_torch_calls(C10Calls* out);
#endif

int main() {
#ifdef OPENED
  void* module = dlopen("libfake_torch.so", RTLD_NOW | RTLD_LOCAL);
  if (module == nullptr) {
    std::puts(dlerror());
    return 1;
  }
  const auto run = reinterpret_cast<void (*)()>(dlsym(module, "fake_torch_run"));
  const auto read = reinterpret_cast<void (*)(C10Calls*)>(dlsym(module, "fake_torch_calls"));
#else
  const auto run = fake_torch_run;
  const auto read = fake_torch_calls;
#endif
  run();
  C10Calls calls{};
  read(&calls);
  std::printf("alloc %d free %d reports %d of %lld, %zu of %zu\n", calls.alloc_cpu, calls.free_cpu,
              calls.reports, static_cast<long long>(calls.reported), calls.allocated, calls.reserved);
}
