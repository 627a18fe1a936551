// Purpose: dlsym and dlvsym as they are below us.
// Runs: outside malloc: the loader's lock may be taken.
#pragma once

namespace memtrace::hooks {
using LookUp = void* (*)(void* handle, const char* name);
using LookUpVersion = void* (*)(void* handle, const char* name, const char* version);
} // namespace memtrace::hooks

// The next ones after ours. Null until find_real_lookups() is first called, which may be before our
// constructor. By C names: the hooks of dlsym and dlvsym are assembler.
extern "C" {
__attribute__((visibility("hidden"))) extern memtrace::hooks::LookUp memtrace_real_dlsym;
__attribute__((visibility("hidden"))) extern memtrace::hooks::LookUpVersion memtrace_real_dlvsym;
}

namespace memtrace::hooks {

void find_real_lookups();

// What the real dlsym says to us: no hook stands for what it finds, and RTLD_NEXT is what comes after this
// library. A miss leaves dlerror set.
void* real_dlsym(void* handle, const char* name);

} // namespace memtrace::hooks
