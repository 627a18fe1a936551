// Purpose: a planted fault: shapes that know who writes them.
#include "preload/ring/ring.h"
namespace memtrace::format {}
