// Purpose: sets the environment variables by which the driver and NVTX find libmemtrace_cupti.so.
// Runs: in the constructor.
#include "preload/hooks/cuda/cupti_injection.h"

#include <dlfcn.h>

#include <cstring>

#include "preload/bounded/fixed_string.h"
#include "preload/marks/framework_facts.h"
#include "preload/os/environ.h"
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

// Finds `DIR/libmemtrace_cupti.so`, where DIR is the folder of this library.
bool find_library(record::Path* out) {
  Dl_info info{};
  if (record::libc.dladdr(reinterpret_cast<const void*>(&offer_injection), &info) == 0 ||
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

} // namespace

void offer_injection() {
  record::Path library;
  if (!find_library(&library)) return;
  offer(for_cuda, "CUDA_INJECTION64_PATH", library.text());
  offer(for_nvtx, "NVTX_INJECTION64_PATH", library.text());
}

} // namespace memtrace::hooks
