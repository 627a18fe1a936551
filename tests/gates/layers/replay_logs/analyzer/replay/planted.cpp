// Purpose: a planted fault: a pure room that talks.
#include <spdlog/spdlog.h>
