// Purpose: marks the functions that a library exports.
#pragma once

#define EXPORT extern "C" __attribute__((visibility("default")))
