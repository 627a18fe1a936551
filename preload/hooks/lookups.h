// Room: hooks. Outside malloc: the loader's lock may be taken.
// Job: dlsym as it is below us.
#pragma once

namespace memtrace::hooks {

// What the real dlsym says to us: no hook stands for what it finds, and RTLD_NEXT is what comes after this
// library. A miss leaves dlerror set.
void* real_dlsym(void* handle, const char* name);

} // namespace memtrace::hooks
