// Purpose: what a card says of itself and of who uses it, by NVML, which is opened at run time.
// Runs: at quiet moments, and in the doctor.
#pragma once

#include <cstdint>

namespace memtrace::cupti {

inline constexpr std::uint64_t kNotSaid = ~std::uint64_t{0};

struct CardUse {
  std::uint64_t process = kNotSaid; // bytes of this process; in a container the card may know it by another pid
  std::uint64_t card = kNotSaid;
  std::uint64_t total = kNotSaid;
  std::uint64_t others_used = kNotSaid;
  std::uint32_t others = 0; // processes beside this one
};

// Between its construction and its end NVML holds descriptors of the driver's; then they are gone again.
class Nvml {
 public:
  Nvml();
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  explicit operator bool() const { return result_ == 0; }
  // Null: it is there. Else why not, in a few words.
  const char* why_not() const;
  // By the uuid that CUDA gives, for CUDA's ordinals are its own. False: no such card, or it does not answer.
  bool use_of(const std::uint8_t (&uuid)[16], CardUse* out) const;
  unsigned cards() const;
  bool card_name(unsigned index, char* out, unsigned bytes) const;
  bool driver_version(char* out, unsigned bytes) const;

 private:
  int result_;
};

} // namespace memtrace::cupti
