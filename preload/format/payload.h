// Purpose: the six words of an event, read and written through the struct of its type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

namespace memtrace::format {

inline constexpr std::size_t kWords = 6;

// What the words mean depends on the type of the event: block_events.h, phase_events.h, definition_events.h,
// process_events.h, sample_events.h and window_events.h have a struct for each.
//
// The struct is made in the place of the words, not copied there: through a copy a malloc and a free of 8 KiB
// took 24 instructions more.
struct Payload {
  std::uint64_t word[kWords];

  // Returns the words as the fields of `Event`. The caller has checked the type. Valid as long as this is.
  template <class Event>
  const Event& as() const {
    static_assert(sizeof(Event) <= sizeof word && std::is_trivially_copyable_v<Event>);
    return *reinterpret_cast<const Event*>(word);
  }
  template <class Event>
  Event& as() {
    return const_cast<Event&>(static_cast<const Payload*>(this)->as<Event>());
  }
  // Sets the words to the fields of `event`, and those that it lacks to 0.
  template <class Event>
  void put(const Event& event) {
    static_assert(sizeof(Event) <= sizeof word && std::is_trivially_copyable_v<Event>);
    ::new (static_cast<void*>(word)) Event(event);
    for (std::size_t i = sizeof event / sizeof word[0]; i < kWords; ++i) word[i] = 0;
  }
  // Takes what `more` says: those of its words that are not 0.
  void take_known(const Payload& more) {
    for (std::size_t i = 0; i < kWords; ++i)
      if (more.word[i] != 0) word[i] = more.word[i];
  }
};

} // namespace memtrace::format
