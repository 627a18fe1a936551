// Room: format.
// Job: a planted fault: shapes that know who writes them.
#include "preload/record/ring.h"
namespace memtrace::format {}
