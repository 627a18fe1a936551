// Purpose: a limit of memory, how much of it is used, and the share from which it counts as near.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

namespace memtrace::watch {

enum class LimitKind : std::uint8_t { cgroup, address_space, data, machine, device };

struct LimitUse {
  LimitKind kind{};
  std::string name;       // the path of a cgroup, "cuda:0"; "" for the others
  int pid = 0;            // of address_space and data: the process that the limit is about
  std::uint64_t used = 0; // bytes
  std::uint64_t limit = 0;

  std::uint64_t left() const { return used < limit ? limit - used : 0; }
};

// Returns the name of the kind as a label: "cgroup", "address_space", "machine".
const char* kind_label(LimitKind kind);

// Returns "of the cgroup /a/b", "of the address space of pid 7 (ulimit -v)", "of the machine".
std::string limit_words(const LimitUse& use);

// A key that is the same for the same limit in each reading.
std::string limit_key(const LimitUse& use);

// A share of each limit, or a number of bytes below it.
class Threshold {
 public:
  static Threshold of_share(double share) { return {share, 0}; }
  static Threshold of_bytes_left(std::uint64_t bytes) { return {1, bytes}; }

  // Returns the used bytes from which a limit is near.
  std::uint64_t level(std::uint64_t limit) const {
    const auto share = static_cast<std::uint64_t>(static_cast<double>(limit) * share_);
    return share - std::min(share, left_);
  }
  bool is_near(const LimitUse& use) const { return use.used >= level(use.limit); }

 private:
  Threshold(double share, std::uint64_t left) : share_(share), left_(left) {}

  double share_;
  std::uint64_t left_;
};

// Reads "90%", "92.5%" or a size such as "4G", the bytes that are left. Returns nullopt for another text, for 0
// and for 100 % or more.
std::optional<Threshold> threshold_of(const std::string& text);

} // namespace memtrace::watch
