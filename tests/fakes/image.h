// Purpose: what cuModuleLoadData takes here: how much code it is, and how much of the card it needs.
// Shared by the fake driver, the fake CUPTI and the programs that load modules.
#pragma once

#include <elf.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace fake {

struct FakeImage {
  std::size_t cubin, on_card;
};

// Returns what `image` says. A compiler's image is an ELF file, and says nothing: the card gets all of it.
inline FakeImage described(const void* image) {
  if (std::memcmp(image, ELFMAG, SELFMAG) != 0) return *static_cast<const FakeImage*>(image);
  const auto& header = *static_cast<const Elf64_Ehdr*>(image);
  const std::size_t sections = header.e_shoff + std::size_t{header.e_shentsize} * header.e_shnum;
  const std::size_t segments = header.e_phoff + std::size_t{header.e_phentsize} * header.e_phnum;
  return {std::max(sections, segments), std::max(sections, segments)};
}

} // namespace fake
