// Purpose: one struct for the payload of each event type, and the assertion that each struct fits its layout.
#pragma once

#include "preload/format/block_events.h"
#include "preload/format/definition_events.h"
#include "preload/format/phase_events.h"
#include "preload/format/process_events.h"
#include "preload/format/sample_events.h"
#include "preload/format/window_events.h"

namespace memtrace::format {

// Returns how many words of its payload an event of this type uses.
constexpr std::size_t words_of(EventType type) {
  std::size_t words = 0;
  for (std::size_t i = 0; i < kWords; ++i)
    if (kEventLayouts[static_cast<std::size_t>(type)][i] != '0') words = i + 1;
  return words;
}

// True if the struct has the words of its layout and no padding between its fields.
template <class Event>
inline constexpr bool kFitsLayout =
    std::is_trivially_copyable_v<Event>&& std::has_unique_object_representations_v<Event> &&
    sizeof(Event) == words_of(Event::kType) * sizeof(std::uint64_t);

template <class... Events>
struct EventList {
  static constexpr bool kAllFit = (kFitsLayout<Events> && ...);
  // True if the list has each type with a payload exactly once.
  static constexpr bool has_all() {
    std::size_t of_type[kEventTypes] = {};
    (++of_type[static_cast<std::size_t>(Events::kType)], ...);
    for (std::size_t type = 0; type < kEventTypes; ++type)
      if (of_type[type] != (words_of(static_cast<EventType>(type)) == 0 ? 0u : 1u)) return false;
    return true;
  }
};

using AllEvents =
    EventList<BirthEvent, DeathEvent, MoveEvent, ProtectEvent, AdviseEvent, CountersEvent, PhaseBeginEvent,
              PhaseEndEvent, StepEvent, LabelEvent, TextEvent, CodeEvent, ModuleEvent, StackEvent, ThreadEvent,
              ProcessEvent, JobEvent, ForkEvent, ExecEvent, EndEvent, ParametersEvent, ParameterDtypeEvent,
              DeviceEvent, ReservedEvent, FailureEvent, SampleProcessEvent, SampleCgroupEvent, CoarseEvent,
              NoteEvent, WindowEvent, LevelEvent, HeldEvent, OpenPhaseEvent, FlowsEvent, SampleChargeEvent,
              SampleLimitsEvent, SamplePressureEvent, SampleMachineEvent, SampleAddressSpaceEvent,
              SampleDeviceEvent, SampleLedgerEvent, SampleResidentEvent, SampleShareEvent, SampleTouchedEvent,
              SampleNodeEvent, EarlyDeathEvent, DisplacedEvent>;
static_assert(AllEvents::kAllFit);
static_assert(AllEvents::has_all());

} // namespace memtrace::format
