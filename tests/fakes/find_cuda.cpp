// Purpose: its functions, found in each of the ways in which programs find them.
// In the programs that use the fake CUDA.
#include "tests/fakes/find_cuda.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include <dlfcn.h>

namespace {

using fake::Api;

Api of_module() {
  Api api{};
#ifdef OPENED
  const char* const version = std::getenv("FAKE_CUDA_MODULE"); // of the runtime: 12, 11
  const std::string name =
      "libfake_cuda_module" + (version != nullptr ? "_" + std::string(version) : "") + ".so";
  void* const module = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (module == nullptr) {
    std::puts(dlerror());
    std::exit(1);
  }
  reinterpret_cast<void (*)(Api*)>(dlsym(module, "fake_cuda_api"))(&api);
#else
  fake_cuda_api(&api);
#endif
  return api;
}

template <class F, class Find>
void fill(F& function, const char* name, Find find) {
  function = reinterpret_cast<F>(find(name));
}

template <class Find>
void fill_driver(Api& api, Find find) {
#define DRIVER_FUNCTION(name, parameters, arguments) fill(api.name, #name, find);
#define RUNTIME_FUNCTION(name, parameters, arguments)
#include "tests/fakes/cuda_functions.def"
}
template <class Find>
void fill_runtime(Api& api, Find find) {
#define DRIVER_FUNCTION(name, parameters, arguments)
#define RUNTIME_FUNCTION(name, parameters, arguments) fill(api.name, #name, find);
#include "tests/fakes/cuda_functions.def"
}

// The name that cuGetProcAddress knows it by.
std::string plain(const char* name, const char* suffix) {
  std::string base(name);
  if (base.size() > 5 && base.ends_with(suffix)) base.resize(base.size() - std::strlen(suffix));
  return base;
}

} // namespace

Api find_cuda(const char* wanted) {
  const std::string way(wanted);
  const bool per_thread = way.ends_with("_ptsz");
  Api api{};
  if (way == "module") return of_module();
  if (way == "default") {
    of_module();
    const auto find = [](const char* name) { return dlsym(RTLD_DEFAULT, name); };
    fill_driver(api, find);
    fill_runtime(api, find);
    return api;
  }
  if (way == "dlsym" || way == "dlvsym") {
    void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    void* const runtime = dlopen("libcudart.so.13", RTLD_NOW | RTLD_LOCAL);
    fill_driver(api, [&](const char* name) { return dlsym(driver, name); });
    fill_runtime(api, [&](const char* name) {
      return way == "dlsym" ? dlsym(runtime, name) : dlvsym(runtime, name, "libcudart.so.13");
    });
    return api;
  }
  api = of_module();
  const Api linked = api;
  const std::uint64_t flags = per_thread ? fake::kPerThreadStream : 0;
  fill_driver(api, [&](const char* name) {
    void* out = nullptr;
    int status = 0;
    std::string base = plain(name, "_v2");
    if (per_thread) base = plain(base.c_str(), "_ptsz");
    if (way.starts_with("asked_old")) {
      linked.cuGetProcAddress(base.c_str(), &out, 12000, flags);
    } else if (way.starts_with("asked")) {
      linked.cuGetProcAddress_v2(base.c_str(), &out, 12000, flags, &status);
    } else if (way == "entry_by_version_ptsz") {
      linked.cudaGetDriverEntryPointByVersion_ptsz(base.c_str(), &out, 12000, 0, &status);
    } else if (way.starts_with("entry_by_version")) {
      linked.cudaGetDriverEntryPointByVersion(base.c_str(), &out, 12000, 0, &status);
    } else if (per_thread) {
      linked.cudaGetDriverEntryPoint_ptsz(base.c_str(), &out, 0, &status);
    } else {
      linked.cudaGetDriverEntryPoint(base.c_str(), &out, 0, &status);
    }
    return out;
  });
  return api;
}
