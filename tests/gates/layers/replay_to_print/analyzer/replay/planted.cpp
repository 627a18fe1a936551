// Purpose: a planted fault: an arrow backwards.
#include "analyzer/print/json/table.h"
