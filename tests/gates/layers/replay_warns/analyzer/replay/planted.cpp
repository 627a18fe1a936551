// Purpose: a planted fault: the replay prints a warning.
#include "analyzer/files/warning.h"
