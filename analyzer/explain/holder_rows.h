// Purpose: groups the blocks alive at one instant by what they are and by the user's line that made them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/explain/process_analysis.h"
#include "analyzer/wording/units.h"

namespace memtrace::report {

// The blocks of one use, one line of the user's and one phase: those of the current step, or those that are
// left of earlier ones.
struct HolderRow {
  std::int64_t bytes = 0;
  std::uint64_t blocks = 0;
  std::uint64_t largest = 0;  // bytes of the largest block
  std::uint64_t as_large = 0; // blocks of exactly that size
  std::string use;            // a role, "state dict", or the kind of the blocks
  replay::Role role = replay::Role::unknown;
  std::string line;           // the user's line, "" if no frame is the user's own
  std::string import;         // "import of torch", if an import made the blocks; else "", as in rows by site
  std::string allocator;      // what the line called: of the site with the most bytes
  std::string next_allocator; // of the next site, if it has a quarter of the bytes; else ""
  std::size_t sites = 0;      // the places in libraries that it covers
  std::string phase;          // of birth
  replay::Step first = replay::Step::none, last = replay::Step::none; // of birth
  std::size_t steps = 0;                                              // with births
  double born_at = 0;                                                 // seconds, of its first block
  bool left = false;                                                  // of steps before the current one

  // Adds a row of another site. `steps` is then the larger number of both.
  void join(const HolderRow& other);
  double variance = 0; // the sum of squared 95 % errors of the sampled bytes
  bool sampled = false;
};

// By the user's line: a row covers all library sites that the line reached. By site: each has its row.
enum class HolderDetail : std::uint8_t { by_line, by_site };

// Returns how many blocks the row has if they are 2 to kFewBlocks: "2 x 381.47" in this unit, "2 x
// 381.47 and smaller", or "3 blocks"
// where their sizes differ. Else returns "". More blocks of one size are layers of a model, or a leak.
inline constexpr std::uint64_t kFewBlocks = 4;
std::string few_blocks(const HolderRow& row, const Unit& unit);

// Returns the rows, the largest first. Leaves out the part of reservations that was never touched. `now`: the
// step of the instant; none: the rows do not tell steps apart.
std::vector<HolderRow> holder_rows(ProcessAnalysis& analysis, const replay::Holdings& alive,
                                   HolderDetail detail, replay::Step now = replay::Step::none);

// Joins the rows below `least` bytes that differ only in their site. Returns the rows, the largest first.
std::vector<HolderRow> with_small_sites_joined(const std::vector<HolderRow>& rows, std::int64_t least);

// Returns "train.py:31 torch.zeros_like adam.py:178": the user's line, then what it called. Without a line of
// the user's, the second part alone.
std::string line_and_allocator(const symbols::Site& site);

// Returns "forward 3", "forward 0 to 38", or the phase alone; outside of phases "step 3", and outside of steps,
// too, the time of the first block: "2.1 s". `after_training`: as in ProcessAnalysis; what that step made is
// "forward after 13" or "forward 0 to end".
std::string since(const HolderRow& row, replay::Step after_training);
// As above, for a phase by its name in the trace; "" outside of phases and steps.
std::string since(const std::string& phase, replay::Step first, replay::Step last, replay::Step after_training);

} // namespace memtrace::report
