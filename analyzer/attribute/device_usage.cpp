// Purpose: the highest usage that a GPU reported, and the part of it that no allocation explains.
#include "analyzer/attribute/device_usage.h"

#include <algorithm>

#include "analyzer/replay/wrapping_sum.h"

namespace memtrace::replay {
namespace {

using format::EventType;
using format::Kind;

// No GPU has more memory. Sums of figures below this bound do not overflow.
constexpr std::uint64_t kMostUsed = std::uint64_t{1} << 60;

std::int64_t bounded(std::uint64_t bytes) {
  return static_cast<std::int64_t>(std::min(bytes, kMostUsed));
}

// Returns the bytes of the block of a birth, a `held` or a death.
std::uint64_t given_of(const trace::Event& event) {
  if (event.type == EventType::birth) return event.as<format::BirthEvent>().given;
  if (event.type == EventType::held) return event.as<format::HeldEvent>().given;
  return event.as<format::DeathEvent>().given;
}

// Returns the stack of a birth or a `held`.
format::StackId stack_of(const trace::Event& event) {
  return event.type == EventType::birth ? event.as<format::BirthEvent>().stack
                                        : event.as<format::HeldEvent>().stack;
}

} // namespace

std::int64_t Residual::sum() const {
  return wrapping_add(wrapping_add(context, code), rest);
}

void DeviceTimeline::hold_in_pools(std::int64_t bytes) {
  if (!framework_ && bytes != pools_hold_) shown_ = kNotShown;
  pools_hold_ = bytes;
}

void DeviceTimeline::follow(const trace::Event& event) {
  if (event.type == EventType::reserved)
    return hold_in_pools(bounded(event.as<format::ReservedEvent>().reserved));
  if (event.type == EventType::level)
    return hold_in_pools(bounded(static_cast<std::uint64_t>(event.as<format::LevelEvent>().reserved)));
  const bool birth = event.type == EventType::birth || event.type == EventType::held;
  if (!birth && event.type != EventType::death) return;
  if (birth && event.kind == Kind::context && context_maker_ == format::StackId{})
    most_.context_maker = context_maker_ = stack_of(event);
  if (event.kind == Kind::none) framework_ = true; // a tensor, within a block that the driver gave
  if (event.kind == Kind::none || (event.flags & format::kNoAccess) != 0) return;
  if (event.kind != Kind::device_async) shown_ = kNotShown; // a pool gives from what it holds
  if (event.kind != Kind::device_async && event.kind != Kind::managed) return;
  std::int64_t& sum = event.kind == Kind::managed ? managed_ : pools_gave_;
  sum = birth ? wrapping_add(sum, given_of(event)) : wrapping_sub(sum, given_of(event));
}

void DeviceTimeline::forget() {
  pools_gave_ = pools_hold_ = managed_ = 0;
  shown_ = kNotShown;
}

bool DeviceTimeline::reached(std::int64_t live) {
  if (shown_ == kNotShown) return false;
  most_.asked_live = std::max(most_.asked_live, live);
  return true;
}

std::int64_t DeviceTimeline::pools_spare() const {
  return framework_ || pools_gave_ < 0 ? 0 : std::max<std::int64_t>(wrapping_sub(pools_hold_, pools_gave_), 0);
}

// Divides the residual. Only the time distinguishes the memory of the context from that of code. If either is
// freed later, or a sample falls between a call and its record, `context` takes the difference. So the sum
// stays right.
void DeviceTimeline::divide(std::int64_t residual, std::uint64_t code) {
  if (!looked_) {
    residual_.code = std::clamp<std::int64_t>(bounded(code), 0, std::max<std::int64_t>(residual, 0));
    residual_.context = wrapping_sub(residual, residual_.code);
  } else {
    std::int64_t& grown = code != code_ ? residual_.code : residual_.rest;
    grown = std::max<std::int64_t>(wrapping_add(grown, wrapping_sub(residual, residual_.sum())), 0);
    residual_.context = wrapping_sub(residual, wrapping_add(residual_.code, residual_.rest));
  }
  looked_ = true;
  code_ = code;
}

bool DeviceTimeline::look(const trace::Event& event, const Level& level, const PhasePosition& place) {
  const auto shown = event.as<format::SampleDeviceEvent>();
  // Less than is live: another process has this pid in the GPU's namespace, or memory came after the question.
  const std::int64_t least = wrapping_sub(level.live, managed_);
  const auto fits = [least](std::uint64_t said) { return said != format::kNotSaid && bounded(said) >= least; };
  const bool own = fits(shown.used_by_process);
  shown_ = kNotShown;
  if (!own && !fits(shown.used)) return false;
  const std::int64_t bytes = bounded(own ? shown.used_by_process : shown.used);
  if (most_.peak && most_.own && !own) return false; // only figures of one kind are compared
  if (most_.peak && own && !most_.own) {
    most_ = {};
    most_.context_maker = context_maker_;
    looked_ = false;
    residual_ = {};
  }
  shown_ = bytes;
  reached(level.live);
  divide(wrapping_sub(wrapping_sub(bytes, level.live), pools_spare()), shown.code);
  if (most_.peak && bytes <= most_.peak->bytes) return true;
  most_.own = own;
  most_.gpu = shown.used;
  most_.total = shown.total;
  most_.others_used = shown.used_by_others;
  most_.code = shown.code;
  const std::uint64_t others = std::min<std::uint64_t>(shown.other_processes, ~std::uint32_t{0});
  most_.others = static_cast<std::uint32_t>(others);
  most_.live = level.live;
  most_.pools = pools_spare();
  most_.residual = residual_;
  most_.peak = Peak{bytes, event.ordinal, event.stamp, place.path, place.step, {}};
  return true;
}

} // namespace memtrace::replay
