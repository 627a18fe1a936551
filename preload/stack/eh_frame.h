// Purpose: where a function keeps its caller's registers, from the unwind tables of the loaded objects.
// Runs: inside the program's malloc, but only at first sight of an address.
#pragma once

#include <cstdint>

namespace memtrace::record {

// How to get from one frame to its caller's, at one instruction. The CFA is what the stack pointer was before
// the call; the return address lies right below it.
struct FrameRule {
  enum class Cfa : std::uint8_t {
    none,   // the stack ends here, or the tables say nothing that we can use
    sp,     // sp + cfa_offset
    bp,     // bp + cfa_offset
    at_bp,  // in the word at bp + cfa_offset: a frame that aligned its stack
    signal, // a signal's frame: the kernel left all registers at sp
  };
  enum class Bp : std::uint8_t {
    kept,   // not touched so far
    at_cfa, // saved at CFA + bp_offset
    at_bp,  // saved at bp + bp_offset
    lost,
  };
  Cfa cfa;
  Bp bp;
  std::int32_t cfa_offset;
  std::int32_t bp_offset;

  friend bool operator==(const FrameRule&, const FrameRule&) = default;
};

// The rule for a frame that will return to `address`. False: no loaded object holds it. Takes no lock, reads
// only what the object has mapped.
bool find_frame_rule(std::uint64_t address, FrameRule* out);

} // namespace memtrace::record
