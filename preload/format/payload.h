// Purpose: the six words of an event, read and written through the struct of its type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

namespace memtrace::format {

inline constexpr std::size_t kWords = 6;

// The type of the event defines the meaning of the words. These headers have a struct for each type:
// block_events.h, phase_events.h, definition_events.h, process_events.h, sample_events.h and window_events.h.
//
// put() constructs the struct in the place of the words. With a copy, a malloc and a free of 8 KiB took 24 more
// instructions.
struct Payload {
  std::uint64_t word[kWords];

  // Returns the words as the fields of `Event`. The caller has checked the type. The reference is valid as long
  // as this object.
  template <class Event>
  const Event& as() const {
    static_assert(sizeof(Event) <= sizeof word && std::is_trivially_copyable_v<Event>);
    return *reinterpret_cast<const Event*>(word);
  }
  template <class Event>
  Event& as() {
    return const_cast<Event&>(static_cast<const Payload*>(this)->as<Event>());
  }
  // Sets the words to the fields of `event`, and the remaining words to 0.
  template <class Event>
  void put(const Event& event) {
    static_assert(sizeof(Event) <= sizeof word && std::is_trivially_copyable_v<Event>);
    ::new (static_cast<void*>(word)) Event(event);
    for (std::size_t i = sizeof event / sizeof word[0]; i < kWords; ++i) word[i] = 0;
  }
  // Takes over the words of `more` that are not 0.
  void take_known(const Payload& more) {
    for (std::size_t i = 0; i < kWords; ++i)
      if (more.word[i] != 0) word[i] = more.word[i];
  }
};

} // namespace memtrace::format
