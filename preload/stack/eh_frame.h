// Purpose: finds where a function saved its caller's registers, from the unwind tables of the loaded objects.
// Runs: inside the program's malloc, but only at first sight of an address.
#pragma once

#include <cstdint>

namespace memtrace::record {

// How to compute the caller's frame at one instruction. The CFA is the value of the stack pointer before the
// call; the return address lies right below it.
struct FrameRule {
  enum class Cfa : std::uint8_t {
    none,   // the stack ends here, or the tables have no rule that this code can use
    sp,     // sp + cfa_offset
    bp,     // bp + cfa_offset
    at_bp,  // in the word at bp + cfa_offset: a frame that aligned its stack
    signal, // a signal's frame: the kernel saved all registers at sp
  };
  enum class Bp : std::uint8_t {
    kept,   // unchanged so far
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

// Finds the rule for a frame that will return to `address`. False: no loaded object contains it. Takes no lock,
// and reads only memory that the object has mapped.
bool find_frame_rule(std::uint64_t address, FrameRule* out);

} // namespace memtrace::record
