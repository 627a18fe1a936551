// Room: record.
// Job: a planted fault: an arrow backwards.
#include "hooks/real.h"
