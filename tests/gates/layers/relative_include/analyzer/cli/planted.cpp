// Purpose: a planted fault: an include that does not name its room.
#include "../report/table.h"
