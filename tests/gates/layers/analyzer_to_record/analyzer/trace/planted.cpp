// Purpose: a planted fault: the analyzer reaches into the recorder.
#include "preload/ring/ring.h"
