// Purpose: mutations of fuzz inputs that are segments: of records as well as of bytes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memtrace::tests {

// What a target with such inputs gives libFuzzer as its custom mutator. libFuzzer's own mutates bytes.
std::size_t mutate_segments(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed);

} // namespace memtrace::tests
