// Purpose: runs the embedded Python files in the traced interpreter.
// Runs: on the program's thread, under the GIL, never inside malloc.
#pragma once

#include "preload/hooks/python/python_api.h"

namespace memtrace::hooks {

// Compiles bootstrap.py and runs it in `globals`. False: Python's error is set.
bool run_bootstrap(Object* globals);
// Likewise the files with the wrappers. Compiling them takes 60 million instructions, and most interpreters
// import no framework. So bootstrap.py calls this before the first import of one.
bool run_wrappers(Object* globals);

// Keeps a function of the bootstrap that runs the wrappers. prepare_now() calls it once, before the program
// gets an audit hook: that hook would see that they are compiled, and could refuse it.
void prepare_by(Object* function);
void prepare_now();
void forget_preparation();

} // namespace memtrace::hooks
