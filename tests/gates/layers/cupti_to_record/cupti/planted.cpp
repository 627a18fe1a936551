// Purpose: a planted fault: a second bridge to the recorder.
#include "preload/blocks/recording.h"
