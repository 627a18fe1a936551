// Purpose: finds the site whose births begin the cycles of a program that repeats itself.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

namespace memtrace::replay {

inline constexpr std::uint64_t kFewestCycles = 12;        // fewer do not show that a program repeats itself
inline constexpr std::uint64_t kLeastPerCycle = 64 << 10; // bytes that a cycle allocates
inline constexpr std::uint64_t kMostCycles = std::uint64_t{1} << 20;
inline constexpr std::size_t kMostSites = std::size_t{1} << 16; // later ones are left out

// Takes the births of a run, one after another, and chooses the site that begins its cycles. Memory grows with
// the number of sites, up to kMostSites: at most 1 KiB each.
class RepeatedSites {
 public:
  using SiteKey = std::uint64_t;

  // `in_python`: the site has a line of Python.
  void born(SiteKey site, std::uint64_t bytes, bool in_python);

  // Returns the site, or nullopt if the births do not repeat until the end. The site is one of those that
  // - had kFewestCycles births or more, and kMostCycles at most;
  // - recurred evenly: of four pairs of neighbouring distances, three differ by less than a factor of two, in
  //   births or in bytes of the whole program;
  // - recurred until the end: what came after its last birth is at most a quarter of what came between its
  //   first and its last one, in births and in bytes.
  // In nested loops, the sites of one loop have equal counts. The loop is the outermost whose sites allocate at
  // least a sixteenth of all bytes: epochs only shuffle, and checkpoints are rare. Of the sites of this loop,
  // the result is the one that was first, of those in Python if there are any.
  std::optional<SiteKey> anchor() const;

 private:
  struct Flow { // of the whole program, since its begin
    std::uint64_t births = 0;
    std::uint64_t bytes = 0;
  };
  struct SiteBirths {
    std::uint64_t count = 0;
    std::uint64_t bytes = 0;
    bool in_python = false;
    std::uint64_t every = 1; // `at` has each `every`th birth
    std::vector<Flow> at;    // just before these births
    Flow last;               // just before its last birth
  };

  void count(SiteBirths& site, std::uint64_t bytes, bool in_python);
  static bool is_even(const std::vector<Flow>& at, std::uint64_t Flow::*measure);
  static bool is_better_anchor(const SiteBirths& a, const SiteBirths& b);
  bool recurs(const SiteBirths& site) const;

  std::unordered_map<SiteKey, SiteBirths> sites_;
  Flow all_;
};

} // namespace memtrace::replay
