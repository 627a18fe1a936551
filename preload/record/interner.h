// Purpose: gives ids to texts, code, modules and stacks, and writes each to the trace once, before its first
// use.
// Runs: inside the program's malloc, but only for a new text, code object, module or frame.
#pragma once

#include "preload/format/records.h"
#include "preload/stack/python_frames.h"

namespace memtrace::record {

// These functions take the definitions lock, with a bound. They return 0 if the lock is not free in time or a
// table is full. This is counted as Loss::stacks. The caller holds the guard.
format::TextId intern_text(const char* text, std::size_t bytes);
bool stacks_are_full();
// Copies at most `capacity` bytes of the text of `id`, and returns their number. Takes no lock, because texts
// never change or disappear.
std::size_t copy_text(format::TextId id, char* out, std::size_t capacity);
// Returns the frame below `caller`. Returns `caller` if the frame cannot be interned now, or ever
// (stacks_are_full).
format::StackId intern_python(format::StackId caller, const PythonFrame& frame);
format::StackId intern_native(format::StackId caller, std::uint64_t address);

// Writes the records that `first` puts, then all definitions so far, into the trace as `definitions` segments.
// Later definitions go to the rings. `first` puts the identity of this process. It may intern nothing, so its
// texts are interned before. Called once per trace, when recording begins.
using PutRecord = void (*)(void* out, const format::RingRecord& record);
void write_definitions(void (*first)(PutRecord put, void* out));

// Returns the touched bytes of the tables, which are private memory.
std::uint64_t definition_bytes();

// Frees the memory that only saves time. Any thread may call it.
void drop_definition_cache();

// Keeps the tables in a forked child, whose trace must define all entries again.
void definitions_forked();

// Prevents new definitions, so that a forked child finds the tables whole. Returns false if the lock is not
// free in time.
bool hold_definitions();
void release_definitions();

} // namespace memtrace::record
