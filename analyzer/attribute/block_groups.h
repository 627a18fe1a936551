// Purpose: the group of a block, with its role. A pass asks for it when the block dies, because the role is
// known only then.
#pragma once

#include "analyzer/attribute/holding_group.h"
#include "analyzer/attribute/module_patterns.h"
#include "analyzer/attribute/role_by_function.h"
#include "analyzer/attribute/role_by_library.h"
#include "analyzer/attribute/role_by_site.h"
#include "analyzer/replay/phase_tracker.h"
#include "analyzer/trace/trace.h"

namespace memtrace::replay {

class BlockGroups {
 public:
  // `last_step`: the last step of the trace, known from the first pass. The death of a block in the last step
  // tells less about its role than an earlier death.
  BlockGroups(const trace::Trace& trace, Step last_step)
      : BlockGroups(trace.definitions(), trace.facts(), last_step) {}
  BlockGroups(const trace::Definitions& definitions, const trace::Facts& facts, Step last_step);

  // Give it each label of the pass.
  void labelled(const Block& block) { roles_.labelled(block); }
  // Sets all labels of the pass at once.
  void set_labels(const SiteRoles& roles) { roles_ = roles; }

  // Returns the group of a block that died now, in the state `phases`.
  HoldingGroup of_dead(const Block& block, const Phases& phases);
  // Returns the group of a block that is alive at the end of the trace, or before a gap.
  HoldingGroup of_survivor(const Block& block, const Phases& phases);
  // Returns the group of a block that ended before. If it died, the fate lacks the last step.
  HoldingGroup of_ended(const Block& block, Fate fate, const Paths& paths);

  // Replaces an inferred role by the label of other blocks of its site, if there is one. Call it after the
  // pass, when all labels are known.
  void settle(HoldingGroup& group) const;

 private:
  HoldingGroup group(const Block& block, const Paths& paths, const Fate& fate);
  void say_role(HoldingGroup& group, const Block& block, const Fate& fate);
  Role made_for(const Block& block);
  const char* made_as(const Block& block);

  Askers askers_;
  Makers makers_;
  Makers builders_;
  SiteRoles roles_;
  ModulePatterns modules_;
  Step last_step_;
  bool modules_seen_;
};

} // namespace memtrace::replay
