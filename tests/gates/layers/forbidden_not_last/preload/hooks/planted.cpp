// Room: hooks.
// Job: a planted fault: the poisoned names come too early.
#include "preload/record/forbidden.h"
#include <sys/mman.h>
