// Purpose: libmemtrace_cupti.so is brought in by the driver and by NVTX, which look for it in the environment.
// Runs: in the constructor.
#include "preload/hooks/cuda/cupti_injection.h"

#include <dlfcn.h>

#include <cstring>

#include "preload/bounded/fixed_string.h"
#include "preload/marks/phase_marks.h"
#include "preload/os/environ.h"
#include "preload/os/libc/libc_table.h"
#include "preload/os/paths.h"

#include "preload/os/gate/forbidden.h"

namespace memtrace::hooks {
namespace {

using Assignment = record::Line<4200>;

// The environment keeps the text, not a copy. The driver reads it in cuInit, NVTX at its first call.
constinit Assignment for_cuda{};
constinit Assignment for_nvtx{};

// `DIR/libmemtrace_cupti.so`, where DIR is ours.
bool find_library(record::Path* out) {
  Dl_info info{};
  if (record::libc.dladdr(reinterpret_cast<const void*>(&offer_injection), &info) == 0 ||
      info.dli_fname == nullptr)
    return false;
  const char* const slash = std::strrchr(info.dli_fname, '/');
  // A relative name is looked for from the directory that the program happens to be in when it calls.
  if (slash == nullptr || info.dli_fname[0] != '/') return false;
  out->add(info.dli_fname, static_cast<std::size_t>(slash - info.dli_fname)).add("/libmemtrace_cupti.so");
  return !out->cut() && record::os::exists(out->text());
}

void offer(Assignment& assignment, const char* variable, const char* library) {
  const char* const taken = record::environment_text(variable);
  if (taken == nullptr) {
    assignment.add(variable).add("=").add(library);
    record::add_to_environment(assignment.text());
  } else if (std::strcmp(taken, library) != 0) { // set by us in a parent, or by another tool
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
