// Purpose: the role of a block, inferred from its birth and its fate.
#include "analyzer/replay/roles.h"

namespace memtrace::replay {
namespace {

constexpr const char* kRoleNames[] = {"unknown",   "parameter", "gradient", "optimizer_state", "activation",
                                      "temporary", "master",    "input",    "buffer",          "workspace",
                                      "comm",      "gathered",  "staging",  "checkpoint",      "kv_cache",
                                      "context",   "rounding"};

} // namespace

const char* role_name(Role role) {
  return kRoleNames[static_cast<std::size_t>(role)];
}

bool is_kept(Role role) {
  return role == Role::parameter || role == Role::gradient || role == Role::optimizer_state ||
         role == Role::master || role == Role::buffer || role == Role::input;
}

std::optional<Role> role_named(const std::string& name) {
  for (std::size_t i = 0; i < sizeof kRoleNames / sizeof kRoleNames[0]; ++i) {
    if (name == kRoleNames[i]) return static_cast<Role>(i);
  }
  return std::nullopt;
}

Role role_of(const PhasePosition& born, const Fate& fate) {
  if (born.known == KnownPhase::none) return Role::unknown;
  if (fate.phase_open) {
    if (fate.survived) return Role::unknown;
    return born.known == KnownPhase::data ? Role::staging : Role::temporary;
  }
  switch (born.known) {
    case KnownPhase::load:
      if (fate.modules_seen) return Role::unknown;
      // A block that dies while training continues is not a parameter: for example a batch that was built
      // early.
      return fate.survived || fate.step == Step::none || fate.step == fate.last_step ? Role::parameter
                                                                                     : Role::unknown;
    case KnownPhase::data:
      return Role::input;
    case KnownPhase::forward:
    case KnownPhase::loss:
    case KnownPhase::recompute:
      // A block of a forward that outlives its step is retained on purpose: a cache, a running mean.
      return fate.survived && born.step != fate.last_step ? Role::unknown : Role::activation;
    case KnownPhase::eval:
      // What the model returned. A result that is alive at the end is retained on purpose.
      return fate.survived ? Role::unknown : Role::activation;
    case KnownPhase::backward:
      return Role::gradient;
    case KnownPhase::step:
      return Role::optimizer_state;
    default:
      return Role::unknown;
  }
}

} // namespace memtrace::replay
