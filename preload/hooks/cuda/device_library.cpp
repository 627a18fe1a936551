// Purpose: brings libmemtrace_cupti.so into a program that uses CUDA or NVTX.
// Runs: in the constructor, and once after the program's first device call.
#include "preload/hooks/cuda/device_library.h"

#include <dlfcn.h>
#include <link.h>

#include <cstring>

#include "preload/bounded/fixed_string.h"
#include "preload/device/device_call_scope.h"
#include "preload/marks/framework_facts.h"
#include "preload/os/environ.h"
#include "preload/os/libc/elf_tables.h"
#include "preload/os/libc/libc_table.h"
#include "preload/os/paths.h"

#include "preload/os/gate/forbidden.h"

namespace memtrace::hooks {
namespace {

using Assignment = record::Line<4200>;

// The environment refers to these texts and does not copy them. The driver reads its variable in cuInit, NVTX
// at the program's first NVTX call.
constinit Assignment for_cuda{};
constinit Assignment for_nvtx{};
constinit record::Path own_library{};

// Finds `DIR/libmemtrace_cupti.so`, where DIR is the folder of this library.
bool find_library(record::Path* out) {
  Dl_info info{};
  if (record::libc.dladdr(reinterpret_cast<const void*>(&offer_device_library), &info) == 0 ||
      info.dli_fname == nullptr)
    return false;
  const char* const slash = std::strrchr(info.dli_fname, '/');
  // A relative name would be resolved in the program's working directory at the time of the call.
  if (slash == nullptr || info.dli_fname[0] != '/') return false;
  out->add(info.dli_fname, static_cast<std::size_t>(slash - info.dli_fname)).add("/libmemtrace_cupti.so");
  return !out->cut() && record::os::exists(out->text());
}

void offer(Assignment& assignment, const char* variable, const char* library) {
  const char* const taken = record::environment_text(variable);
  if (taken == nullptr) {
    assignment.add(variable).add("=").add(library);
    record::add_to_environment(assignment.text());
  } else if (std::strcmp(taken, library) != 0) { // a parent under memtrace or another tool set it
    record::Line<512> note;
    note.add("injection=").add(variable).add(" ").add(taken);
    record::note(note.text(), note.size());
  }
}

// Takes the loader's lock, as the driver does in its own calls when it opens libraries.
void open_library() {
  void* const library = record::libc.dlopen(own_library.text(), RTLD_NOW | RTLD_LOCAL);
  void* const start = library != nullptr
                          ? record::function_from(static_cast<const link_map*>(library), "InitializeInjection")
                          : nullptr;
  if (start != nullptr) reinterpret_cast<int (*)()>(start)();
}

} // namespace

void offer_device_library() {
  if (!find_library(&own_library)) return;
  const char* const cupti = record::environment_text("MEMTRACE_CUPTI");
  if (cupti != nullptr && std::strcmp(cupti, "on") == 0)
    offer(for_cuda, "CUDA_INJECTION64_PATH", own_library.text());
  else
    __atomic_store_n(&record::first_device_call, &open_library, __ATOMIC_RELEASE);
  offer(for_nvtx, "NVTX_INJECTION64_PATH", own_library.text());
}

} // namespace memtrace::hooks
