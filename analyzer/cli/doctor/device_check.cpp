// Purpose: checks whether the driver, CUPTI and NVML work. libmemtrace_cupti.so probes them in a separate
// process.
#include "analyzer/cli/doctor/device_check.h"

#include <fmt/core.h>
#include <sys/wait.h>

#include <chrono>

#include "analyzer/cli/common/install_paths.h"
#include "analyzer/files/program_output.h"

namespace memtrace::cli {
namespace {

constexpr char kLibrary[] = "libmemtrace_cupti.so";
constexpr auto kPatience = std::chrono::seconds(30); // a GPU in a low-power state takes some seconds to wake

// The dynamic loader of each x86-64 system with glibc. The library is a program that it runs (cupti/entry.cpp).
constexpr char kDynamicLoader[] = "/lib64/ld-linux-x86-64.so.2";

std::vector<Check> parse(const std::string& text) {
  std::vector<Check> out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size()), tab = text.find('\t', at);
    if (tab < end)
      out.push_back({text.substr(at + 1, tab - at - 1), text[at] == '1', text.substr(tab + 1, end - tab - 1)});
    at = end + 1;
  }
  return out;
}

} // namespace

std::vector<Check> check_devices() {
  const std::string path = installed_library(kLibrary);
  if (path.empty())
    return {
        {"CUPTI", false,
         fmt::format("{} is not built: CUPTI's headers were missing then; device memory is seen by hooks alone",
                     kLibrary)}};
  const files::ProgramOutput probe = files::output_of({kDynamicLoader, path}, kPatience);
  std::vector<Check> out = parse(probe.text);
  if (!WIFEXITED(probe.status))
    out.push_back({"device", false,
                   probe.timed_out ? "the driver did not answer within 30 s"
                                   : "asking the driver ended the process that asked"});
  if (out.empty()) out.push_back({"CUPTI", false, fmt::format("{} cannot run {}", kDynamicLoader, path)});
  return out;
}

} // namespace memtrace::cli
