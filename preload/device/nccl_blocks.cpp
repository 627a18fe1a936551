// Purpose: gives device memory of NCCL the name of its process group.
// Runs: inside the calls of CUDA's runtime and driver; names are given under the GIL.
#include "preload/device/nccl_blocks.h"

#include <link.h>

#include <cstring>

#include "preload/format/passing_libraries.h"
#include "preload/record/interner.h"
#include "preload/record/process_groups.h"
#include "preload/record/thread_entry.h"
#include "preload/stack/loaded_modules.h"

#include "preload/os/gate/forbidden.h"

namespace memtrace::record {
namespace {

constexpr char kNccl[] = "libnccl";

bool begins(const char* text, const char* with) {
  return std::strncmp(text, with, std::strlen(with)) == 0;
}

// Returns the file name of the library that has this code; "" for the program itself.
const char* library_of(std::uint64_t code) {
  dl_find_object object{};
  if (!find_object(code, &object) || object.dlfo_link_map == nullptr) return "";
  const char* const path = object.dlfo_link_map->l_name;
  const char* const slash = path == nullptr ? nullptr : std::strrchr(path, '/');
  return slash != nullptr ? slash + 1 : path != nullptr ? path : "";
}

// True if the innermost library that does not only forward the call is NCCL. The analyzer asks the same of the
// stack (attribute/role_by_library.cpp): PyTorch's allocator also takes memory inside a collective.
bool nccl_asks() {
  if (settings.stacks != Stacks::native && settings.stacks != Stacks::both) return false;
  Thread* const thread = this_thread();
  if (thread == nullptr) return false;
  std::uint64_t* const frames = thread->scratch.native;
  const std::size_t count = unwind(frames, kMaxNative, {}, {}, 0, thread->walk).count;
  for (std::size_t i = 0; i < count; ++i) {
    const char* const library = library_of(frames[i] - 1);
    bool passes_on = false;
    for (const char* one : format::kPassingLibraries) passes_on = passes_on || begins(library, one);
    if (!passes_on) return begins(library, kNccl);
  }
  return false;
}

void say_name(const Recording& here, const GroupBlock& block) {
  here.mark(format::LabelEvent{block.address, block.bytes, intern_text("comm", 4), block.name, {}, 0},
            static_cast<std::uint16_t>(block.memory << format::kMemoryShift));
}

} // namespace

void label_nccl_block(const Recording& here, const HookedBlock& block) {
  if (block.memory == 0 || !groups_are_used() || (block.flags & (format::kTensor | format::kNoAccess)) != 0)
    return;
  const GroupKey group = group_of_this_thread();
  if (group == 0 || !nccl_asks()) return;
  const GroupBlock taken{block.address, block.given, group, block.memory, name_of_group(group)};
  if (taken.name != format::TextId{0}) say_name(here, taken);
  keep_group_block(taken);
}

void nccl_block_died(std::uint64_t address, unsigned memory) {
  forget_group_block(address, memory);
}

void label_waiting_nccl_blocks() {
  const Recording here;
  GroupBlock block;
  while (here && take_named_block(&block)) say_name(here, block);
}

} // namespace memtrace::record
