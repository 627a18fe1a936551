// Purpose: whether the terminal shows UTF-8, by the locale of the environment.
#include <langinfo.h>

#include <clocale>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "analyzer/cli/top/terminal.h"

namespace memtrace::cli {

bool use_locale() {
  std::setlocale(LC_CTYPE, "");
  if (std::strcmp(::nl_langinfo(CODESET), "UTF-8") == 0) return true;
  // The machine may lack the locale that the user chose at another one. C.UTF-8 is part of libc.
  for (const char* const name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* const value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    const std::string_view text(value);
    const bool asked = text.ends_with("UTF-8") || text.ends_with("utf8");
    return asked && std::setlocale(LC_CTYPE, "C.UTF-8") != nullptr;
  }
  return false;
}

} // namespace memtrace::cli
