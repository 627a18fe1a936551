// Room: fold.
// Job: a planted fault: an arrow backwards.
#include "analyzer/report/table.h"
