// Purpose: the module of a model that a block belongs to: paths of modules, by the addresses of their objects.
// Runs: the table is written under the GIL, outside malloc, and read inside the program's malloc.
#include "preload/record/model_modules.h"

#include <sys/mman.h>

#include "preload/os/mappings.h"

namespace memtrace::record {

using format::TextId;

namespace {

// Threads read and write the table without a lock. A thread may see the address of one module with the path of
// another. So the word of the path repeats a part of the address.
struct NamedModule {
  std::uint64_t self; // 0: a free slot
  std::uint64_t self_and_path;
};
// A GPT with 96 layers has some 1,500 modules, a mixture with 48 layers of 128 experts some 25,000.
constexpr std::size_t kSlots = 64 * 1024;
constexpr std::size_t kProbes = 16; // slots that a module may be in, from its own on

constinit NamedModule* modules = nullptr;
constinit std::uint64_t named = 0; // modules in the table

std::size_t slot_of(std::uint64_t self) {
  return static_cast<std::size_t>((self >> 4) * 0x9E3779B97F4A7C15u >> 48); // 16 bits: kSlots
}
static_assert(kSlots == 1 << 16);

std::uint64_t part_of(std::uint64_t self) {
  return (self ^ self >> 32) << 32;
}

TextId look_up(std::uint64_t self) {
  for (std::size_t i = 0; i < kProbes; ++i) {
    const NamedModule& slot = modules[(slot_of(self) + i) % kSlots];
    const std::uint64_t key = __atomic_load_n(&slot.self, __ATOMIC_ACQUIRE);
    if (key == 0) break;
    if (key != self) continue;
    const std::uint64_t word = __atomic_load_n(&slot.self_and_path, __ATOMIC_RELAXED);
    return (word ^ part_of(self)) >> 32 == 0 ? TextId{static_cast<std::uint32_t>(word)} : TextId{0};
  }
  return TextId{0};
}

} // namespace

void prepare_modules() {
  modules = static_cast<NamedModule*>(os::map_private(kSlots * sizeof(NamedModule)));
}

// If another thread looks up a module meanwhile, it finds zeros.
void forget_modules() {
  if (modules == nullptr || named == 0) return;
  os::advise(modules, kSlots * sizeof(NamedModule), MADV_DONTNEED);
  __atomic_store_n(&named, 0u, __ATOMIC_RELAXED);
}

void name_module(const void* object, TextId path) {
  const auto self = reinterpret_cast<std::uint64_t>(object);
  if (modules == nullptr || self == 0 || path == TextId{0}) return;
  for (std::size_t i = 0; i < kProbes; ++i) {
    NamedModule& slot = modules[(slot_of(self) + i) % kSlots];
    if (slot.self != 0 && slot.self != self) continue;
    __atomic_store_n(&slot.self_and_path, part_of(self) | static_cast<std::uint32_t>(path), __ATOMIC_RELAXED);
    __atomic_store_n(&slot.self, self, __ATOMIC_RELEASE);
    __atomic_store_n(&named, named + 1, __ATOMIC_RELAXED);
    return;
  }
}

TextId module_of(const ModuleCalls& calls) {
  if (__atomic_load_n(&named, __ATOMIC_RELAXED) == 0) return TextId{0};
  for (std::size_t i = 0; i < calls.count; ++i) {
    const TextId path = look_up(reinterpret_cast<std::uint64_t>(calls.self[i]));
    if (path != TextId{0}) return path;
  }
  return TextId{0};
}

std::uint64_t module_bytes() {
  // Each module lies on a page of its own until all pages are touched.
  constexpr std::uint64_t kPage = 4096;
  const std::uint64_t pages = __atomic_load_n(&named, __ATOMIC_RELAXED) * kPage;
  return pages < kSlots * sizeof(NamedModule) ? pages : kSlots * sizeof(NamedModule);
}

} // namespace memtrace::record
