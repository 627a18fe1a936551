// Room: fold.
// Job: a planted fault: an arrow backwards.
#include "report/table.h"
