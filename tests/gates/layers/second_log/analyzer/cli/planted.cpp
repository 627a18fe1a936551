// Purpose: a planted fault: a second source that compiles spdlog.
// expect: spdlog is included in analyzer/files/warning.cpp alone
#include <spdlog/spdlog.h>
