// Purpose: a planted fault: a circle of two headers.
#pragma once
#include "analyzer/trace/one.h"
namespace memtrace::trace {}
