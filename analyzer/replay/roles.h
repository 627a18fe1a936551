// Purpose: what a block was for, told from where it was born and what became of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "analyzer/replay/phase_position.h"

namespace memtrace::replay {

// The roles of the contract that a trace can show so far.
enum class Role : std::uint8_t {
  unknown,
  parameter,
  gradient,
  optimizer_state,
  activation,
  temporary,
  master,
  input,
  buffer,
  workspace,
  comm,
  gathered,
  staging,
  checkpoint,
  kv_cache,
  context,
  rounding, // what an allocator took beyond what it was asked for
};

const char* role_name(Role role);
std::optional<Role> role_named(const std::string& name);

// What training makes once, or in each step, and needs from then on; what is given to it.
bool is_kept(Role role);

// What became of a block by the time it died, or by the end of the trace.
struct Fate {
  bool survived = false;       // alive at the end of the trace
  bool phase_open = false;     // the phase it was born in had not ended then
  Step step = Step::none;      // the process's step then
  Step last_step = Step::none; // of the trace
  bool modules_seen = false;   // their parameters are labelled: what is not is none
};

// Of a tensor. A phase that was cut off by the end of the trace tells nothing: unknown.
Role role_of(const PhasePosition& born, const Fate& fate);

} // namespace memtrace::replay
