// Purpose: queries a GPU's memory and its processes by NVML, which is opened at run time.
// Runs: at safe points, and in the doctor.
#pragma once

#include <cstdint>

namespace memtrace::cupti {

inline constexpr std::uint64_t kNotSaid = ~std::uint64_t{0};

struct CardUse {
  std::uint64_t process = kNotSaid; // bytes of this process; in a container the GPU may know another pid
  std::uint64_t card = kNotSaid;
  std::uint64_t total = kNotSaid;
  std::uint64_t others_used = kNotSaid;
  std::uint32_t others = 0; // processes besides this one
};

// NVML holds descriptors of the driver while an object of this class exists.
class Nvml {
 public:
  // `all`: wakes every GPU of the machine, which cards() and card_name() need. Without it, a GPU is woken when
  // it is asked for, and NVML counts 0 GPUs before that (seen on an H200).
  explicit Nvml(bool all = false);
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  explicit operator bool() const { return result_ == 0; }
  // Returns null if NVML works, else the reason in a few words.
  const char* why_not() const;
  // Finds the GPU by its uuid, because CUDA's ordinals differ from NVML's. False: no such GPU, or no answer.
  bool use_of(const std::uint8_t (&uuid)[16], CardUse* out) const;
  unsigned cards() const;
  bool card_name(unsigned index, char* out, unsigned bytes) const;
  bool driver_version(char* out, unsigned bytes) const;

 private:
  int result_;
};

} // namespace memtrace::cupti
