// Purpose: the role of a block, inferred from its birth and its fate.
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
  rounding, // bytes that an allocator took beyond the request
};

const char* role_name(Role role);
std::optional<Role> role_named(const std::string& name);

// True for the roles of memory that training makes once or in each step and needs from then on, and for input.
bool is_kept(Role role);

// The state when a block died, or at the end of the trace.
struct Fate {
  bool survived = false;       // alive at the end of the trace
  bool phase_open = false;     // the phase of its birth had not ended then
  Step step = Step::none;      // the step of the process then
  Step last_step = Step::none; // of the trace
  bool modules_seen = false;   // the parameters of modules are labelled: a block without a label is not one
};

// Returns the role of a tensor. Returns unknown if the end of the trace cut off its phase.
Role role_of(const PhasePosition& born, const Fate& fate);

} // namespace memtrace::replay
