// Room: format.
// Job: a planted fault: shapes that know who writes them.
#include "record/ring.h"
namespace memtrace::format {}
