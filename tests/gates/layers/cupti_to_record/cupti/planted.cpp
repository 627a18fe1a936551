// Purpose: a planted fault: a second door to the recorder.
#include "preload/blocks/recording.h"
