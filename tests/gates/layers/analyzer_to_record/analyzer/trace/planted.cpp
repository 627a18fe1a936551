// Room: trace.
// Job: a planted fault: the analyzer reaches into the recorder.
#include "record/ring.h"
