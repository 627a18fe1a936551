// Purpose: the fields of the events that state a fact of the process or of one of its devices.
#pragma once

#include "preload/format/records.h"

namespace memtrace::format {

struct ProcessEvent {
  static constexpr EventType kType = EventType::process;
  std::uint32_t pid;
  std::uint32_t parent_pid;
  std::uint64_t unix_ns; // time at the record's stamp
  TextId executable;
  TextId arguments; // NUL between them
  TextId host;
  TextId directory;
  std::uint64_t exact_min;    // bytes: MEMTRACE_EXACT_MIN
  std::uint32_t sample_bytes; // MEMTRACE_SAMPLE
  std::uint32_t page_bytes;
};

// The process's place in the job. The record comes again if the rank becomes known late.
struct JobEvent {
  static constexpr EventType kType = EventType::job;
  TextId job;
  std::uint32_t attempt;
  std::uint32_t rank;       // 0xFFFFFFFF: none
  std::uint32_t local_rank; // 0xFFFFFFFF: none
  std::uint32_t world_size; // 0: unknown
  TextId launcher;
};

// The process is a fork of another recorded process.
struct ForkEvent {
  static constexpr EventType kType = EventType::fork;
  std::uint32_t parent_pid;
  std::uint32_t unused;
  std::uint64_t parent_trace_id;
  Stamp parent_stamp;
  std::uint64_t live;   // bytes inherited
  std::uint64_t tensor; // bytes inherited
};

// Recorded before the call. If the process has a later record, the exec failed.
struct ExecEvent {
  static constexpr EventType kType = EventType::exec;
  TextId path;
  std::uint32_t unused;
};

struct EndEvent {
  static constexpr EventType kType = EventType::end;
  std::uint32_t code; // exit code, or the number of the signal
  std::uint32_t unused;
};

// Figures of the model. The last record counts.
struct ParametersEvent {
  static constexpr EventType kType = EventType::parameters;
  std::uint64_t count;
  std::uint64_t trainable;
  std::uint64_t bytes;
  std::uint64_t tensors;
};

struct ParameterDtypeEvent {
  static constexpr EventType kType = EventType::parameter_dtype;
  TextId dtype;
  std::uint32_t unused;
  std::uint64_t count; // parameters of this type
};

// The record comes again if more is known. A field that is 0 adds nothing.
struct DeviceEvent {
  static constexpr EventType kType = EventType::device;
  TextId name;
  std::uint32_t unused;
  std::uint8_t uuid[16];
  std::uint64_t total; // bytes
  TextId source;       // "hooks" or "cupti"
  std::uint32_t unused_too;
};

// A fact for the reader, as "key=value".
struct NoteEvent {
  static constexpr EventType kType = EventType::note;
  TextId text;
  std::uint32_t unused;
};

} // namespace memtrace::format
