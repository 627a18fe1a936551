// Purpose: a planted fault: an arrow backwards.
#include "preload/hooks/symbols/real_functions.h"
