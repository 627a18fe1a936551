// Purpose: the bridge by which device events and NVTX ranges reach the recorder.
// Runs: on the program's threads, called by libmemtrace_cupti.so.
#include "preload/api/cupti_bridge.h"
#include "preload/api/export.h"
#include "preload/blocks/recording.h"
#include "preload/device/device_blocks.h"
#include "preload/device/device_call_scope.h"
#include "preload/device/device_levels.h"
#include "preload/format/process_events.h"
#include "preload/format/sample_events.h"
#include "preload/hooks/cuda/torch_allocators.h"
#include "preload/marks/framework_facts.h"
#include "preload/marks/phase_marks.h"
#include "preload/os/environ.h"
#include "preload/os/timestamp.h"
#include "preload/record/emit.h"
#include "preload/record/interner.h"
#include "preload/state/messages.h"
#include "preload/state/recorder_state.h"
#include "preload/state/safe_point.h"
#include "preload/state/settings.h"
#include "preload/state/thread.h"

#include <errno.h>

#include <cstring>

#include "preload/os/gate/forbidden.h"

namespace memtrace::hooks {
namespace {

using format::Kind;
using record::Recording;

constexpr std::int32_t kMostDevices = 15;

// Keeps errno over a call through the bridge.
class KeepsErrno {
 public:
  ~KeepsErrno() { errno = before_; }

 private:
  int before_ = errno;
};

Kind kind_of(std::uint32_t kind) {
  switch (kind) {
    case MEMTRACE_KIND_DEVICE_ASYNC:
      return Kind::device_async;
    case MEMTRACE_KIND_DEVICE_VMM:
      return Kind::device_vmm;
    case MEMTRACE_KIND_MANAGED:
      return Kind::managed;
    case MEMTRACE_KIND_PINNED:
      return Kind::pinned;
    case MEMTRACE_KIND_REGISTERED:
      return Kind::registered;
    default:
      return Kind::device;
  }
}

unsigned memory_of(std::int32_t device) {
  return device >= 0 && device < kMostDevices ? static_cast<unsigned>(device) + 1 : 0;
}

void owns_devices(int owns) {
  record::give_devices_to_cupti(owns != 0);
}
int is_owner() {
  return record::cupti_owns_devices();
}

std::uint64_t stamp() {
  return record::active() ? record::draw_stamp() : 0;
}

record::HookedBlock block_of(const memtrace_device_event& event) {
  const bool pinned = event.kind == MEMTRACE_KIND_PINNED && event.what == MEMTRACE_DEVICE_BORN;
  const std::uint64_t asked = pinned ? torch_asked(event.bytes) : event.bytes;
  return {event.address, event.bytes, asked, kind_of(event.kind), 0, memory_of(event.device)};
}

// True if a hook is open around the call and records more than a callback can. A callback may not query how
// much memory is left, or whether the stream is being captured.
bool hook_knows_more(const memtrace_device_event& event) {
  const bool asks = event.what == MEMTRACE_DEVICE_FAILED ||
                    (event.what == MEMTRACE_DEVICE_BORN && event.kind == MEMTRACE_KIND_DEVICE_ASYNC);
  return asks && record::local.device_calls != 0;
}

void failed(const memtrace_device_event& event) {
  record::Refusal why{event.code};
  why.free = event.free;
  why.total = event.total;
  if (const Recording here; here) here.failed(block_of(event), why);
}

void device_event(const memtrace_device_event* event) {
  const KeepsErrno keeper;
  if (!record::cupti_owns_devices() || hook_knows_more(*event)) return;
  // A call that makes a context may also allocate, and only its own callback tells that.
  if (event->what == MEMTRACE_DEVICE_CONTEXT_BORN) return record::context_born(event->handle, event->device);
  record::cupti_reported();
  switch (event->what) {
    case MEMTRACE_DEVICE_BORN:
      record::device_born(block_of(*event), event->kind == MEMTRACE_KIND_DEVICE_ASYNC ? 0 : event->handle);
      break;
    case MEMTRACE_DEVICE_DIED:
      record::device_died(event->address, kind_of(event->kind), event->stamp);
      break;
    case MEMTRACE_DEVICE_FAILED:
      failed(*event);
      break;
    case MEMTRACE_DEVICE_CREATED:
      record::handle_born(block_of(*event));
      break;
    case MEMTRACE_DEVICE_RETAINED:
      record::handle_taken(event->address);
      break;
    case MEMTRACE_DEVICE_RELEASED:
      record::handle_released(event->address, event->stamp);
      break;
    case MEMTRACE_DEVICE_MAPPED:
      record::handle_mapped(event->address, event->bytes, event->handle);
      break;
    case MEMTRACE_DEVICE_CONTEXT:
      record::context_died(event->handle, event->stamp);
      break;
    case MEMTRACE_DEVICE_UNMAPPED:
      record::handle_unmapped(event->address, event->bytes, event->stamp);
      break;
    default:
      break;
  }
}

std::uint16_t flags_of(std::int32_t device) {
  return static_cast<std::uint16_t>(memory_of(device) << format::kMemoryShift);
}

format::TextId text_id(const char* text) {
  return record::intern_text(text, std::strlen(text));
}

void device_identity(const memtrace_device_identity* identity) {
  const Recording here;
  if (!here || memory_of(identity->device) == 0) return;
  format::DeviceEvent device{};
  if (identity->name != nullptr) device.name = text_id(identity->name);
  if (identity->uuid != nullptr) std::memcpy(device.uuid, identity->uuid, sizeof device.uuid);
  device.total = identity->total;
  device.source = text_id(record::cupti_owns_devices() ? "cupti" : "hooks");
  here.mark(device, flags_of(identity->device));
}

void device_use(const memtrace_device_use* use) {
  const Recording here;
  if (!here || memory_of(use->device) == 0) return;
  here.mark(
      format::SampleDeviceEvent{use->process, use->card, use->total, use->others_used, use->code, use->others},
      flags_of(use->device));
}

void on_safe_point(void (*call)()) {
  __atomic_store_n(&record::safe_point_call, call, __ATOMIC_RELEASE);
}

void phase_begin(const char* name, std::size_t bytes) {
  const KeepsErrno keeper;
  record::phase_begin(name, bytes, 0);
}
void phase_end(const char* name, std::size_t bytes) {
  const KeepsErrno keeper;
  record::phase_end(name, bytes, 0);
}

void note(const char* text, std::size_t bytes) {
  const KeepsErrno keeper;
  record::note(text, bytes);
}

void say(const char* text) {
  const KeepsErrno keeper;
  record::say({text});
}

int cupti_mode() {
  const char* const mode = record::environment_text("MEMTRACE_CUPTI");
  if (mode == nullptr) return 1;
  return std::strcmp(mode, "off") == 0 ? 0 : std::strcmp(mode, "on") == 0 ? 2 : 1;
}

int wants_phases() {
  return record::settings.phases != record::PhaseSource::off;
}

const char* nvtx_domains() {
  return record::environment_text("MEMTRACE_NVTX_DOMAINS");
}

constexpr memtrace_bridge kBridge{MEMTRACE_BRIDGE_VERSION,
                                  sizeof(memtrace_bridge),
                                  &owns_devices,
                                  &is_owner,
                                  &stamp,
                                  &device_event,
                                  &device_identity,
                                  &device_use,
                                  &on_safe_point,
                                  &phase_begin,
                                  &phase_end,
                                  &note,
                                  &say,
                                  &cupti_mode,
                                  &wants_phases,
                                  &nvtx_domains,
                                  &record::device_peaks};

} // namespace
} // namespace memtrace::hooks

// Returns null in a disabled process, so that its device events are not recorded.
EXPORT const memtrace_bridge* memtrace_open_bridge(uint32_t version) {
  return version == MEMTRACE_BRIDGE_VERSION && memtrace::record::active() ? &memtrace::hooks::kBridge : nullptr;
}
