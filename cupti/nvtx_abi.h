// Purpose: the parts of NVTX 3's interface between program and tool that memtrace uses. The build needs no NVTX
// headers: these types are unchanged since 2016, and not every toolkit has the headers. Types only.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memtrace::cupti::nvtx {

using Domain = void*;
using String = void*;

struct Attributes { // nvtxEventAttributes_t, version 2 and 3
  std::uint16_t version;
  std::uint16_t size;
  std::uint32_t category;
  std::int32_t color_type;
  std::uint32_t color;
  std::int32_t payload_type;
  std::int32_t reserved;
  std::uint64_t payload;
  std::int32_t message_type; // Message
  const void* message;
};
static_assert(sizeof(Attributes) == 48 && offsetof(Attributes, message) == 40);
enum Message : std::int32_t { kNoMessage, kAscii, kUnicode, kRegistered };

inline constexpr int kNotTracked = -2; // NVTX_NO_PUSH_POP_TRACKING: what push and pop return without a tool

using CallbackPointer = void (*)();
using CallbackTable = CallbackPointer**; // of pointers to the program's function pointers

struct Callbacks { // NvtxExportTableCallbacks
  std::size_t struct_size;
  int (*module_table)(int module, CallbackTable* table, unsigned* size);
};
inline constexpr std::uint32_t kCallbacksTable = 1; // NVTX_ETID_CALLBACKS
using GetExportTable = const void* (*)(std::uint32_t id);

enum CallbackModule { kCore = 1, kCore2 = 5 };
enum Core {
  kRangeStartEx = 4,
  kRangeStartA,
  kRangeStartW,
  kRangeEnd,
  kRangePushEx,
  kRangePushA,
  kRangePushW,
  kRangePop
};
enum Core2 {
  kDomainRangeStartEx = 2,
  kDomainRangeEnd,
  kDomainRangePushEx,
  kDomainRangePop,
  kDomainRegisterStringA = 10,
  kDomainRegisterStringW,
  kDomainCreateA,
  kDomainCreateW
};

} // namespace memtrace::cupti::nvtx
