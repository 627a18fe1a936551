// Purpose: a section for the words that each start of a process writes.
// Runs: in the constructor.
#pragma once

// A page of the library that a process writes first costs it 2 us. Among the library's large tables, each of
// these words would have a page of its own.
#define ON_START_PAGE [[gnu::section("memtrace_start")]]
