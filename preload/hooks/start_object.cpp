// Purpose: the handle of this library, which the compiler's start files define otherwise; and where its start
// page begins.
// Runs: never.
#include "preload/os/gate/start_page.h"

#include "preload/os/gate/forbidden.h"

// libc knows the handlers of this library by it.
extern "C" {
[[gnu::visibility("hidden")]] extern void* __dso_handle;
ON_START_PAGE void* __dso_handle = &__dso_handle;

// The first object of the library, so the section begins here.
[[gnu::visibility("hidden"), gnu::used]] ON_START_PAGE alignas(4096) char memtrace_start_page[8] = {};
}
