// Purpose: what differs between versions of CPython: the offsets of frames, code objects and strings.
// Runs: inside the program's malloc.
//
// For a new version, add a row to both tables, its walk to python_frames.cpp, and the version to tests/matrix.
// From 3.13 on, a row that is wrong is rejected by the interpreter's own table, and stacks stay native.
#pragma once

#include <cstdint>

namespace memtrace::record {

enum class Last : std::uint8_t { bytes, units, pointer }; // unit of a frame's instruction field
enum class LineTable : std::uint8_t { lnotab, ranges, locations };

// Offsets from the headers of x86-64 and AArch64 builds with the GIL. Each was compared with offsetof.
struct Layout {
  int minor; // 3.minor
  int frame; // PyThreadState: its frame; if `inner` is not negative, its _PyCFrame
  int inner; // _PyCFrame: its frame
  int code, previous, last;
  Last last_is;
  int owner;      // -1: frames have no owner
  int co_code;    // where the instructions begin; -1: `last` is not a pointer
  int qualname;   // co_qualname; before 3.11, co_name
  int name, file; // co_name, co_filename
  int line_table, first_line;
  LineTable lines;
  int ascii, compact; // str: offset of the data, if ASCII, and if compact but not ASCII
  int locals;         // of a frame: its first argument
};

// clang-format off
inline constexpr Layout kLayouts[] = {
    {9,  24, -1, 32, 24, 104, Last::bytes,   -1, -1,  112, 112, 104, 120, 40, LineTable::lnotab,    48, 72, 360},
    {10, 24, -1, 32, 24, 96,  Last::units,   -1, -1,  112, 112, 104, 120, 40, LineTable::ranges,    48, 72, 352},
    {11, 56, 8,  32, 48, 56,  Last::pointer, 69, 184, 128, 120, 112, 136, 72, LineTable::locations, 48, 72, 72},
    {12, 56, 0,  0,  8,  56,  Last::pointer, 70, 192, 128, 120, 112, 136, 68, LineTable::locations, 40, 56, 72},
    {13, 72, -1, 0,  8,  56,  Last::pointer, 70, 200, 128, 120, 112, 136, 68, LineTable::locations, 40, 56, 72},
    {14, 72, -1, 0,  8,  56,  Last::pointer, 74, 208, 128, 120, 112, 136, 68, LineTable::locations, 40, 56, 80},
};
// clang-format on

inline constexpr int kTypeField = 8;   // of each object
inline constexpr int kSizeField = 16;  // ob_size of bytes, length of str
inline constexpr int kHashField = 24;  // str
inline constexpr int kStateField = 32; // str: interned:2, kind:3, compact:1, ascii:1
inline constexpr int kBytesData = 32;
inline constexpr std::uint8_t kOwnedByC = 3; // from 3.12: a frame that only marks an entry from C
inline constexpr int kTaggedSince = 14;      // the low bits of a frame's references are a tag
inline constexpr std::uintptr_t kTag = 3;
inline constexpr std::size_t kLongestWalk = 16384; // a longer chain is broken, or too slow to walk

inline constexpr int kDescribedSince = 13; // 3.13

// From 3.13 the runtime has a table with its own field offsets. The place of the table's entries changes
// between versions.
struct Description {
  int minor;
  int frame, previous, code, last, owner; // table offsets of the Layout fields with these names
  int file, name, qualname, line_table, first_line, co_code;
  int length, ascii, bytes_data; // of str, str and bytes
  int locals;
};
inline constexpr Description kDescriptions[] = {
    {13, 184, 232, 240, 248, 264, 280, 288, 296, 304, 312, 344, 552, 560, 528, 256},
    {14, 208, 256, 264, 272, 288, 320, 328, 336, 344, 352, 384, 632, 640, 608, 280},
};
inline constexpr int kVersionField = 8; // PY_VERSION_HEX
inline constexpr int kFreeThreadedField = 16;

// Only builds with Py_TRACE_REFS have this function. There, each object begins with two more words.
inline constexpr const char kTraceRefsFunction[] = "_Py_AddToAllObjects";

} // namespace memtrace::record
