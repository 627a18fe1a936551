// Purpose: reads the frame chain and the code objects of CPython, as plain structs by offset.
// Runs: inside the program's malloc.
#include "preload/stack/python_frames.h"

#include <cstring>

#include "preload/stack/python_layouts.h"
#include "preload/stack/python_lines.h"

namespace memtrace::record {
namespace {

template <typename T>
T at(const void* object, int offset) {
  T value;
  std::memcpy(&value, static_cast<const char*>(object) + offset, sizeof(value));
  return value;
}

// The frames that a walk leaves out, and the one among them that calls modules.
struct Hidden {
  const void* file;
  const void* module_call; // a code object
};

using ReadFrames = std::size_t (*)(const void* state, const Hidden& hidden, PythonFrame* out,
                                   std::size_t capacity, ModuleCalls* calls);

// Returns an object that a frame refers to. From 3.14 on the reference is a _PyStackRef.
template <bool Tagged>
const char* object_of(const void* frame, int offset) {
  auto reference = at<std::uintptr_t>(frame, offset);
  if constexpr (Tagged) reference &= ~kTag;
  return reinterpret_cast<const char*>(reference);
}

// One instance per version, so that the offsets are immediates.
template <int I>
std::size_t walk(const void* state, const Hidden& hidden, PythonFrame* out, std::size_t capacity,
                 ModuleCalls* calls) {
  constexpr Layout k = kLayouts[I];
  auto* frame = at<const void*>(state, k.frame);
  if constexpr (k.inner >= 0) {
    if (frame == nullptr) return 0;
    frame = at<const void*>(frame, k.inner);
  }
  std::size_t count = 0;
  for (std::size_t steps = 0; frame != nullptr && count < capacity && steps < kLongestWalk; ++steps) {
    const void* here = frame;
    frame = at<const void*>(here, k.previous);
    if constexpr (k.owner >= 0) {
      if (at<std::uint8_t>(here, k.owner) >= kOwnedByC) continue;
    }
    auto* code = object_of<k.minor >= kTaggedSince>(here, k.code);
    if (code == nullptr) continue;
    PythonFrame& got = out[count];
    got.file = at<const void*>(code, k.file);
    if (got.file == hidden.file) {
      if (calls != nullptr && code == hidden.module_call && calls->count < ModuleCalls::kMost)
        calls->self[calls->count++] = object_of<k.minor >= kTaggedSince>(here, k.locals);
      continue;
    }
    got.code = code;
    if constexpr (k.last_is == Last::pointer) {
      got.lasti = static_cast<std::uint32_t>(at<const char*>(here, k.last) - (code + k.co_code));
    } else {
      got.lasti =
          static_cast<std::uint32_t>(at<std::int32_t>(here, k.last) * (k.last_is == Last::units ? 2 : 1));
    }
    got.first_line = at<std::uint32_t>(code, k.first_line);
    got.line_table = at<const void*>(code, k.line_table);
    got.name_hash = at<std::uint64_t>(at<const void*>(code, k.name), kHashField);
    ++count;
  }
  return count;
}

constexpr int kFramesForLocal = 256; // a collective is near the innermost frame

// Returns the object that `wanted` selects in the innermost frame that has one; null: none.
template <int I>
const void* find_local(const void* state, WantedLocal wanted) {
  constexpr Layout k = kLayouts[I];
  auto* frame = at<const void*>(state, k.frame);
  if constexpr (k.inner >= 0) {
    if (frame == nullptr) return nullptr;
    frame = at<const void*>(frame, k.inner);
  }
  for (int steps = 0; frame != nullptr && steps < kFramesForLocal; ++steps) {
    const void* here = frame;
    frame = at<const void*>(here, k.previous);
    if constexpr (k.owner >= 0) {
      if (at<std::uint8_t>(here, k.owner) >= kOwnedByC) continue;
    }
    auto* code = object_of<k.minor >= kTaggedSince>(here, k.code);
    const int place = code == nullptr ? -1 : wanted(code);
    if (place < 0) continue;
    const int offset = k.locals + place * static_cast<int>(sizeof(void*));
    if (auto* const found = object_of<k.minor >= kTaggedSince>(here, offset); found != nullptr) return found;
  }
  return nullptr;
}

using FindLocal = const void* (*)(const void* state, WantedLocal wanted);
constexpr FindLocal kFindLocal[] = {find_local<0>, find_local<1>, find_local<2>,
                                    find_local<3>, find_local<4>, find_local<5>};
static_assert(sizeof(kFindLocal) / sizeof(kFindLocal[0]) == sizeof(kLayouts) / sizeof(kLayouts[0]));

constexpr ReadFrames kWalks[] = {walk<0>, walk<1>, walk<2>, walk<3>, walk<4>, walk<5>};
static_assert(sizeof(kWalks) / sizeof(kWalks[0]) == sizeof(kLayouts) / sizeof(kLayouts[0]));

using ThisThreadState = void* (*)();
constinit ThisThreadState g_this_thread_state = nullptr;
constinit const Layout* g_layout = nullptr;
constinit Hidden g_hidden{};
constinit const void* g_text_type = nullptr;
constinit ReadFrames g_walk = nullptr; // stored last: a reader that sees it sees the rest too

// True if the runtime's own table agrees with the layout. This detects builds with another configuration. Free
// threading has another object header, frame chain and str; from 3.14 also a copy of the instructions per
// thread.
bool describes_itself_as(const Layout& k, const void* runtime) {
  for (const Description& d : kDescriptions) {
    if (d.minor != k.minor) continue;
    if (runtime == nullptr || std::memcmp(runtime, "xdebugpy", 8) != 0) return false;
    if (at<std::uint64_t>(runtime, kVersionField) >> 16 != static_cast<std::uint64_t>(0x300 | k.minor))
      return false;
    if (at<std::uint64_t>(runtime, kFreeThreadedField) != 0) return false;
    const int fields[][2] = {{d.frame, k.frame},
                             {d.previous, k.previous},
                             {d.code, k.code},
                             {d.last, k.last},
                             {d.owner, k.owner},
                             {d.file, k.file},
                             {d.name, k.name},
                             {d.qualname, k.qualname},
                             {d.line_table, k.line_table},
                             {d.first_line, k.first_line},
                             {d.co_code, k.co_code},
                             {d.length, kSizeField},
                             {d.ascii, k.ascii},
                             {d.bytes_data, kBytesData},
                             {d.locals, k.locals}};
    for (const auto& [where, offset] : fields) {
      if (at<std::uint64_t>(runtime, where) != static_cast<std::uint64_t>(offset)) return false;
    }
    return true;
  }
  return k.minor < kDescribedSince;
}

// Hands out the caller's buffer from its front.
struct Room {
  char* next;
  std::size_t left;

  bool put(std::uint32_t byte) {
    if (left == 0) return false;
    *next++ = static_cast<char>(byte);
    --left;
    return true;
  }
  bool put_code_point(std::uint32_t c) {
    if (c < 0x80) return put(c);
    // A byte of a path that was not UTF-8 (PEP 383): write the original byte.
    if (c >= 0xDC80 && c <= 0xDCFF) return put(c - 0xDC00);
    if (c < 0x800) return put(0xC0 | c >> 6) && put(0x80 | (c & 63));
    if (c < 0x10000) return put(0xE0 | c >> 12) && put(0x80 | (c >> 6 & 63)) && put(0x80 | (c & 63));
    return put(0xF0 | c >> 18) && put(0x80 | (c >> 12 & 63)) && put(0x80 | (c >> 6 & 63)) &&
           put(0x80 | (c & 63));
  }
};

// Does not use the UTF-8 that a str may have cached: CPython stores its pointer before its bytes, which is a
// race without the GIL.
bool read_text(const Layout& k, const void* text, Room& room, const char** out, std::size_t* bytes) {
  if (text == nullptr) return false;
  auto length = at<std::size_t>(text, kSizeField);
  auto state = at<std::uint32_t>(text, kStateField);
  std::uint32_t kind = state >> 2 & 7;
  if ((state & 0x20) == 0) return false; // not compact: the compiler makes no such str
  if ((state & 0x40) != 0) {
    *out = static_cast<const char*>(text) + k.ascii;
    *bytes = length;
    return true;
  }
  if (kind != 1 && kind != 2 && kind != 4) return false;
  char* begin = room.next;
  for (std::size_t i = 0; i < length; ++i) {
    const char* unit = static_cast<const char*>(text) + k.compact + i * kind;
    std::uint32_t c = kind == 1   ? at<std::uint8_t>(unit, 0)
                      : kind == 2 ? at<std::uint16_t>(unit, 0)
                                  : at<std::uint32_t>(unit, 0);
    if (!room.put_code_point(c)) return false;
  }
  *out = begin;
  *bytes = static_cast<std::size_t>(room.next - begin);
  return true;
}

} // namespace

int python_minor(const char* text) {
  if (text[0] != '3' || text[1] != '.') return -1;
  int minor = 0;
  for (text += 2; *text >= '0' && *text <= '9'; ++text) minor = minor * 10 + (*text - '0');
  if (*text++ != '.') return -1;
  while (*text >= '0' && *text <= '9') ++text;
  if (*text == 'a' || *text == 'b') return -1;
  return minor;
}

bool python_attach(const PythonSymbols& symbols) {
  if (symbols.this_thread_state == nullptr || symbols.version == nullptr) return false;
  int minor = python_minor(symbols.version);
  for (const Layout& layout : kLayouts) {
    if (layout.minor != minor || !describes_itself_as(layout, symbols.runtime)) continue;
    g_this_thread_state = symbols.this_thread_state;
    g_layout = &layout;
    __atomic_store_n(&g_walk, kWalks[&layout - kLayouts], __ATOMIC_RELEASE);
    return true;
  }
  return false;
}

void python_detach() {
  __atomic_store_n(&g_walk, nullptr, __ATOMIC_RELEASE);
}
bool python_attached() {
  return __atomic_load_n(&g_walk, __ATOMIC_ACQUIRE) != nullptr;
}
void python_hide(const void* file) {
  __atomic_store_n(&g_hidden.file, file, __ATOMIC_RELAXED);
}
void python_module_call(const void* code) {
  __atomic_store_n(&g_hidden.module_call, code, __ATOMIC_RELAXED);
}

// Safe without the GIL, because only the thread itself changes its frames, and it is in this function.
// _PyThreadState_UncheckedGet must not be used: up to 3.11 it returns the thread state of the GIL's holder, not
// of this thread.
std::size_t python_walk(PythonFrame* out, std::size_t capacity, ModuleCalls* calls) {
  if (calls != nullptr) calls->count = 0;
  ReadFrames walk_frames = __atomic_load_n(&g_walk, __ATOMIC_ACQUIRE);
  if (walk_frames == nullptr) return 0;
  const void* state = g_this_thread_state();
  if (state == nullptr) return 0;
  const Hidden hidden{__atomic_load_n(&g_hidden.file, __ATOMIC_RELAXED),
                      __atomic_load_n(&g_hidden.module_call, __ATOMIC_RELAXED)};
  return walk_frames(state, hidden, out, capacity, calls);
}

void python_text_type(const void* type) {
  __atomic_store_n(&g_text_type, type, __ATOMIC_RELAXED);
}

std::uint64_t text_key(const char* text, std::size_t bytes) {
  std::uint64_t hash = 0xCBF29CE484222325u;
  for (std::size_t i = 0; i < bytes; ++i) hash = (hash ^ static_cast<std::uint8_t>(text[i])) * 0x100000001B3u;
  return hash | 1; // an object's address is even
}

bool python_has_this_thread() {
  return python_attached() && g_this_thread_state() != nullptr;
}

std::uint64_t python_local(WantedLocal wanted) {
  if (!python_attached()) return 0;
  const void* state = g_this_thread_state();
  if (state == nullptr) return 0;
  const void* const object = kFindLocal[g_layout - kLayouts](state, wanted);
  if (object == nullptr) return 0;
  if (at<const void*>(object, kTypeField) != __atomic_load_n(&g_text_type, __ATOMIC_RELAXED))
    return reinterpret_cast<std::uint64_t>(object);
  char buffer[256]; // of a text that is not ASCII
  Room room{buffer, sizeof buffer};
  const char* text = nullptr;
  std::size_t bytes = 0;
  return read_text(*g_layout, object, room, &text, &bytes) ? text_key(text, bytes) : 0;
}

PythonPlace python_place() {
  PythonFrame innermost;
  if (python_walk(&innermost, 1) == 0) return {};
  return {innermost.code, innermost.lasti};
}

bool python_names(const PythonFrame& frame, PythonNames* names, char* room, std::size_t room_bytes) {
  if (!python_attached()) return false;
  const Layout& k = *g_layout;
  Room left{room, room_bytes};
  PythonNames got{};
  if (!read_text(k, at<const void*>(frame.code, k.qualname), left, &got.function, &got.function_bytes))
    return false;
  if (!read_text(k, frame.file, left, &got.file, &got.file_bytes)) return false;
  got.first_line = frame.first_line;
  got.line = line_of(k, frame);
  *names = got;
  return true;
}

} // namespace memtrace::record
