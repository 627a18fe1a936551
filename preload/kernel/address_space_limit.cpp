// Purpose: finds the address space limit that made an allocation fail.
// Runs: inside the program's malloc, on its thread.
#include "preload/kernel/address_space_limit.h"

#include <sys/resource.h>

#include "preload/kernel/proc_file.h"
#include "preload/os/files.h"
#include "preload/os/threads.h"

namespace memtrace::record {
namespace {

constexpr std::size_t kHead = 1024; // of /proc/self/status: the figures of memory are among the first lines

AddressLimit of_limit(std::uint64_t asked, std::uint64_t held, std::uint64_t limit) {
  if (limit == format::kNotSaid || held == format::kNotSaid) return {};
  const std::uint64_t left = held < limit ? limit - held : 0;
  return asked > left ? AddressLimit{left, limit} : AddressLimit{};
}

} // namespace

AddressLimit address_limit(std::uint64_t asked) {
  const std::uint64_t size = os::resource_limit(RLIMIT_AS), data = os::resource_limit(RLIMIT_DATA);
  if (size == format::kNotSaid && data == format::kNotSaid) return {};
  const long fd = os::open_kernel("/proc/self/status");
  if (fd < 0) return {};
  char text[kHead];
  const long bytes = os::read_all(fd, text, sizeof text - 1);
  os::close(fd);
  if (bytes < 0) return {};
  text[bytes] = '\0';
  const AddressLimit by_size = of_limit(asked, kib_after(text, "VmSize:"), size);
  return by_size.total != format::kNotSaid ? by_size : of_limit(asked, kib_after(text, "VmData:"), data);
}

} // namespace memtrace::record
