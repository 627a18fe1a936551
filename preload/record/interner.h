// Purpose: texts, code, modules and stacks by id: each is written to the trace once, before its first use.
// Runs: inside the program's malloc, but only at first sight of a thing.
#pragma once

#include "preload/format/records.h"
#include "preload/stack/python_frames.h"

namespace memtrace::record {

// All take the definitions lock, bounded; 0 when it cannot be had or a table is full (counted as Loss::stacks).
// Guard held.
format::TextId intern_text(const char* text, std::size_t bytes);
bool stacks_are_full();
// What `id` says, at most `capacity` bytes: how many. Takes no lock: texts never change or go.
std::size_t copy_text(format::TextId id, char* out, std::size_t capacity);
// The frame below `caller`; `caller` itself when it cannot be had now, or never again (stacks_are_full).
format::StackId intern_python(format::StackId caller, const PythonFrame& frame);
format::StackId intern_native(format::StackId caller, std::uint64_t address);

// Writes what `first` puts (who this process is: it may intern nothing, so its texts are interned before) and
// then every definition so far into the trace as `definitions` segments, and lets later ones go to the rings.
// Once per trace, when recording begins.
using PutRecord = void (*)(void* out, const format::RingRecord& record);
void write_definitions(void (*first)(PutRecord put, void* out));

// Private memory of the tables, as far as it is touched.
std::uint64_t definition_bytes();

// Gives back what only saves time. On any thread.
void drop_definition_cache();

// In a forked child: the tables stay, its trace must define them again.
void definitions_forked();

// Nothing new is defined while held, so that a forked child finds the tables whole. Bounded; false: not held.
bool hold_definitions();
void release_definitions();

} // namespace memtrace::record
