// Purpose: converts names of functions to the form of their source.
#include "analyzer/symbols/demangle.h"

#include <cxxabi.h>
#define HAVE_DECL_BASENAME 1 // without it, libiberty declares basename again, and not as glibc does
#include <demangle.h>

#include <cstdlib>
#include <cstring>
#include <memory>

namespace memtrace::symbols {
namespace {

struct FreeText {
  void operator()(char* text) const { std::free(text); }
};

using Owned = std::unique_ptr<char, FreeText>;

bool begins_with(const char* name, const char* prefix) {
  return std::strncmp(name, prefix, std::strlen(prefix)) == 0;
}

} // namespace

// Checks the prefix, because __cxa_demangle takes names of C functions for types: `i` for `int`, `f` for
// `float`.
std::string demangle(const char* name) {
  const bool cxx = begins_with(name, "_Z");
  if (!cxx && !begins_with(name, "_R")) return name;
  if (const Owned plain(rust_demangle(name, 0)); plain != nullptr) return plain.get();
  if (!cxx) return name;
  int status = 0;
  const Owned plain(abi::__cxa_demangle(name, nullptr, nullptr, &status));
  return status == 0 && plain != nullptr ? plain.get() : name;
}

std::string_view without_parameters(std::string_view function) {
  constexpr std::string_view kAnonymous = "(anonymous namespace)";
  for (std::size_t at = function.find('(', 1); at != std::string_view::npos; at = function.find('(', at)) {
    if (function.substr(at).starts_with(kAnonymous))
      at += kAnonymous.size();
    else if (function.substr(0, at).ends_with("operator"))
      at += 2;
    else
      return function.substr(0, at);
  }
  return function;
}

} // namespace memtrace::symbols
