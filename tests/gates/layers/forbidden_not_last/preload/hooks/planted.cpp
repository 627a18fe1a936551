// Purpose: a planted fault: the poisoned names come too early.
#include "preload/os/gate/forbidden.h"
#include <sys/mman.h>
