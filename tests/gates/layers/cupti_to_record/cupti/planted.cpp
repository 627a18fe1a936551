// Room: cupti.
// Job: a planted fault: a second door to the recorder.
#include "preload/record/recording.h"
