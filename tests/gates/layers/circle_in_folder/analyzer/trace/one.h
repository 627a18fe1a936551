// Purpose: a planted fault: a circle of two headers.
#pragma once
#include "analyzer/trace/two.h"
namespace memtrace::trace {}
