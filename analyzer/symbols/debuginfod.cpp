// Purpose: gets separate debug information from the servers of DEBUGINFOD_URLS.
#include "analyzer/symbols/debuginfod.h"

#include <chrono>

#include "analyzer/files/program_output.h"

namespace memtrace::symbols {
namespace {

// The client has limits of its own (DEBUGINFOD_TIMEOUT, DEBUGINFOD_MAXTIME). This one ends a client that hangs.
constexpr auto kPatience = std::chrono::minutes(10);

std::string hexadecimal(std::span<const unsigned char> bytes) {
  std::string out;
  for (const unsigned char byte : bytes) {
    out += "0123456789abcdef"[byte >> 4];
    out += "0123456789abcdef"[byte & 15];
  }
  return out;
}

} // namespace

std::string downloaded_debuginfo(std::span<const unsigned char> build_id) {
  const files::ProgramOutput client =
      files::output_of({"debuginfod-find", "debuginfo", hexadecimal(build_id)}, kPatience);
  return client.status == 0 ? client.text.substr(0, client.text.find('\n')) : "";
}

} // namespace memtrace::symbols
