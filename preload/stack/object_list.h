// Purpose: finds the library that contains an address where glibc has no _dl_find_object (before 2.35).
// Runs: inside the program's malloc, but only at first sight of an address.
#pragma once

#include <dlfcn.h>

namespace memtrace::record {

// As _dl_find_object: returns 0 and fills `*out`, or returns -1. It reads the loader's list of objects, because
// dl_iterate_phdr would wait for the loader's lock: a thread in dlopen may hold it and wait for a thread in
// malloc. Another thread may unload a library meanwhile, so the list is read by copies, which fail instead of
// crashing.
int find_listed_object(void* address, dl_find_object* out);

} // namespace memtrace::record
