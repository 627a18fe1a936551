// Room: record.
// Job: a planted fault: an arrow backwards.
#include "preload/hooks/real.h"
