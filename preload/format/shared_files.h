// Purpose: the files that memtrace keeps for a job on a shared file system, and the local ones that they are
// copied from.
#pragma once

#include <cstdint>

#include "preload/format/file_headers.h"

namespace memtrace::format {

// A job's directory DIR on a shared file system has DIR/HOST/STEM.memtrace. Its local directory is
// BASE/memtrace-UID/shared/DIR.
inline constexpr char kLocalFolder[] = "/shared";
// Has the size of the files of a trace that were copied and removed. It has no content.
inline constexpr char kCopiedSuffix[] = ".copied";

// STEM.rest: the other files of a trace, once its process has ended. A file with this header is whole, because
// the header is written last.
inline constexpr char kRestSuffix[] = ".rest";
inline constexpr char kRestMagic[8] = {'M', 'T', 'R', 'E', 'S', 'T', '0', '1'};
inline constexpr std::uint32_t kRestParts = 8;

struct RestPart {
  char suffix[24]; // ".window-0"; ends with NUL
  std::uint64_t offset;
  std::uint64_t bytes;
};
struct RestHeader {
  char magic[8];
  std::uint32_t parts;
  std::uint32_t reserved;
  RestPart part[kRestParts];
};
static_assert(sizeof(RestHeader) <= kPage);

// Of a trace, besides STEM.memtrace. `memtrace run` writes the evidence.
inline constexpr const char* kOtherSuffixes[] = {".window-0", ".window-1", ".window-2", ".window-3",
                                                 ".coarse",   ".rings",    ".evidence"};
static_assert(sizeof kOtherSuffixes / sizeof *kOtherSuffixes == kWindowFiles + 3);

// s between two copies, at least. The second one: if the local disk goes with the job.
inline constexpr std::uint64_t kCopySeconds = 30, kCopySecondsIfLost = 2;

} // namespace memtrace::format
