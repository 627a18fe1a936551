// Purpose: the script and the style of the page, which the build takes from web/.
#pragma once

#include <string_view>

namespace memtrace::report {

struct PageAsset {
  std::string_view text;   // "": the build had no esbuild
  std::string_view sha256; // hexadecimal
};

extern const PageAsset kPageScript;
extern const PageAsset kPageStyle;

} // namespace memtrace::report
