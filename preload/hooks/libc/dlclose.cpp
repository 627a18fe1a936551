// Purpose: hook of dlclose. Its result does not depend on its caller (that of dlopen does), so a wrapper is
// safe.
// Runs: on the program's thread, when it unloads a library.
#include <errno.h>

#include "preload/api/export.h"
#include "preload/hooks/symbols/find_symbol.h"
#include "preload/stack/native_unwinder.h"
#include "preload/state/recorder_state.h"

#include "preload/os/gate/forbidden.h"

namespace {

using Close = int (*)(void*);
constinit Close real_close = nullptr;

} // namespace

EXPORT int dlclose(void* library) noexcept {
  if (real_close == nullptr) memtrace::hooks::find_next(&real_close, "dlclose");
  const int result = real_close(library);
  const int errno_after = errno;
  if (memtrace::record::active()) memtrace::record::code_was_unloaded();
  errno = errno_after;
  return result;
}
