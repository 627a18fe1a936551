// Purpose: the programs in which memtrace records, by their names. `memtrace run` says why it recorded nothing.
#pragma once

#include <cstddef>

namespace memtrace::format {

// Programs that a training job starts by the hundred and that do not train: compilers, the programs that
// compilers start, build tools, shells and git. "*-*-" stands for a target, as in x86_64-linux-gnu-as.
inline constexpr char kDefaultSkip[] =
    "cc1*,f951,lto1,lto-wrapper,collect2,cc,*-*-cc,c++,*-*-c++,*gcc*,*g++*,gfortran*,*-*-gfortran*,clang*,"
    "as,*-*-as,ld,*-*-ld,ld.*,*-*-ld.*,ld64.*,gold,lld,lld-*,mold,ccache,sccache,"
    "nvcc,cicc,cudafe++,ptxas,fatbinary,nvlink,"
    "ninja,ninja-*,make,gmake,cmake,sh,bash,dash,zsh,fish,busybox,git,git-*";

// True if `name` matches the glob of `bytes` bytes: "*" is any text, "?" any character.
constexpr bool matches(const char* pattern, std::size_t bytes, const char* name) {
  if (bytes == 0) return *name == '\0';
  if (*pattern == '*') {
    for (const char* rest = name;; ++rest) {
      if (matches(pattern + 1, bytes - 1, rest)) return true;
      if (*rest == '\0') return false;
    }
  }
  if (*name == '\0' || (*pattern != '?' && *pattern != *name)) return false;
  return matches(pattern + 1, bytes - 1, name + 1);
}

// True if `name` matches one of the globs in `list`, which commas separate.
constexpr bool matches_any(const char* list, const char* name) {
  for (const char* at = list; *at != '\0';) {
    std::size_t bytes = 0;
    while (at[bytes] != '\0' && at[bytes] != ',') ++bytes;
    if (bytes != 0 && matches(at, bytes, name)) return true;
    at += bytes + (at[bytes] == ',' ? 1 : 0);
  }
  return false;
}

// True if the recorder records in programs of this name. The arguments are the values of MEMTRACE,
// MEMTRACE_ONLY and MEMTRACE_SKIP, null if they are not set.
constexpr bool records_in(const char* name, const char* enabled, const char* only, const char* skip) {
  if (enabled != nullptr && enabled[0] == '0' && enabled[1] == '\0') return false;
  if (only != nullptr && *only != '\0' && !matches_any(only, name)) return false;
  return !matches_any(skip != nullptr ? skip : kDefaultSkip, name);
}

} // namespace memtrace::format
