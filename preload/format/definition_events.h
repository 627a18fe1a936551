// Purpose: the fields of the events that define ids.
#pragma once

#include "preload/format/records.h"

namespace memtrace::format {

// A part of a text. The chunks of one id follow each other in one thread. The low byte of the flags has the
// number of bytes in this chunk.
struct TextEvent {
  static constexpr EventType kType = EventType::text;
  TextId id;
  std::uint32_t unused;
  char bytes[kTextChunk];
};

// A Python code object.
struct CodeEvent {
  static constexpr EventType kType = EventType::code;
  CodeId id;
  std::uint32_t first_line;
  TextId function;
  TextId file;
};

// An object file in the program's address space.
struct ModuleEvent {
  static constexpr EventType kType = EventType::module;
  ModuleId id;
  TextId path;
  std::uint64_t bias;  // load address of the object's address 0
  std::uint64_t first; // lowest mapped address
  std::uint32_t pages; // mapped, of kPage bytes
  std::uint8_t build_id_tail[4];
  std::uint8_t build_id[16]; // its bytes 0-15; the low byte of the flags has its size
};

// One frame of a stack, and the id of its caller.
struct StackEvent {
  static constexpr EventType kType = EventType::stack;
  StackId id;
  StackId caller;      // 0: outermost
  std::uint64_t frame; // native: return address; with kPythonFrame: a PythonFrame
};

struct PythonPosition {
  CodeId code;
  std::uint32_t line;
};

struct ThreadEvent {
  static constexpr EventType kType = EventType::thread;
  std::uint32_t index; // in this process, from 0
  std::uint32_t tid;
  char name[16];
};

} // namespace memtrace::format
