// Purpose: the real dlsym and dlvsym.
// Runs: outside malloc: the loader's lock may be taken.
#pragma once

namespace memtrace::hooks {
using LookUp = void* (*)(void* handle, const char* name);
using LookUpVersion = void* (*)(void* handle, const char* name, const char* version);
} // namespace memtrace::hooks

// The next definitions after memtrace's. Null until the first find_real_lookups(), which may run before
// memtrace's constructor. They have C names because the hooks of dlsym and dlvsym are assembler.
extern "C" {
__attribute__((visibility("hidden"))) extern memtrace::hooks::LookUp memtrace_real_dlsym;
__attribute__((visibility("hidden"))) extern memtrace::hooks::LookUpVersion memtrace_real_dlvsym;
}

namespace memtrace::hooks {

void find_real_lookups();

// Returns the function `name` for RTLD_NEXT or RTLD_DEFAULT, and null for any other handle. For a process
// without dlsym: before glibc 2.34 that function is in libdl.
void* look_up_without_loader(void* handle, const char* name);

// Returns the result of the real dlsym, without replacement by a hook. RTLD_NEXT means the objects after this
// library. If it finds nothing, dlerror stays set.
void* real_dlsym(void* handle, const char* name);

} // namespace memtrace::hooks
