// Purpose: decides which parts of a path are public: those of the system, the standard library and packages.
#include "analyzer/pack/redact/public_paths.h"

#include <algorithm>
#include <iterator>

#include "analyzer/symbols/inductor_code.h"

namespace memtrace::redact {
namespace {

template <std::size_t N>
bool is_one_of(const char* const (&names)[N], std::string_view name) {
  return std::any_of(std::begin(names), std::end(names), [&](const char* one) { return name == one; });
}

// Below / and below /usr: everything comes from the system's packages.
constexpr const char* kSystem[] = {"bin",     "include", "lib",  "lib32", "lib64",
                                   "libexec", "libx32",  "sbin", "share"};

// Names that say nothing about a user or a project.
constexpr const char* kCommon[] = {"bin",        "boot",       "cgroup",    "dev",        "docker",
                                   "etc",        "fs",         "home",      "include",    "lib",
                                   "lib64",      "kubepods",   "burstable", "besteffort", "kubepods.slice",
                                   "local",      "media",      "memory",    "mnt",        "opt",
                                   "proc",       "root",       "run",       "self",       "share",
                                   "shm",        "src",        "srv",       "sys",        "system.slice",
                                   "user.slice", "init.scope", "tmp",       "unified",    "usr",
                                   "var"};

constexpr const char* kLibraries[] = {
    "ld-linux",    "libc.so", "libc10",  "libcu", "libgcc_s",   "libgomp",   "libiomp",   "libm.so",
    "libmemtrace", "libmkl",  "libnccl", "libnv", "libpthread", "libpython", "libstdc++", "libtorch"};

constexpr const char* kPackages[] = {"deepspeed", "safetensors", "torch", "transformers"};

constexpr const char* kSuffixes[] = {".py",  ".pyx",   ".pyc",   ".c",     ".cc",     ".cpp",
                                     ".cxx", ".cu",    ".h",     ".hpp",   ".rs",     ".go",
                                     ".f90", ".ipynb", ".slice", ".scope", ".service"};

bool is_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// "python", "python3", "python3.11", "python3.13t".
bool is_interpreter(std::string_view name) {
  if (!name.starts_with("python")) return false;
  const std::string_view version = name.substr(6);
  return std::all_of(version.begin(), version.end(),
                     [](char c) { return (c >= '0' && c <= '9') || c == '.' || c == 't'; });
}

bool begins_public(const std::vector<std::string>& parts, std::size_t i) {
  const std::string& part = parts[i];
  if (part == "site-packages" || part == "dist-packages") return true;
  const bool absolute = parts.front().empty();
  if (absolute && i == 1 && is_one_of(kSystem, part)) return true;
  if (absolute && i == 2 && parts[1] == "usr" && is_one_of(kSystem, part)) return true;
  if (i + 1 >= parts.size()) return false;
  const std::string& next = parts[i + 1];
  return ((part == "lib" || part == "lib64") && next != "python" && is_interpreter(next)) ||
         (part == "include" && next == "c++");
}

} // namespace

std::vector<std::string> parts_of(const std::string& path) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    out.push_back(path.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

std::size_t first_public(const std::vector<std::string>& parts) {
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (begins_public(parts, i)) return i;
  // torch.compile names its files by hashes.
  if (parts.size() > 2) {
    const std::string& folder = parts[parts.size() - 2];
    if (symbols::InductorCode::is_generated("/" + folder + "/" + parts.back())) return parts.size() - 2;
  }
  return is_public_library(parts.back()) ? parts.size() - 1 : parts.size();
}

bool is_common(std::string_view name) {
  return name.empty() || name == "." || name == ".." || is_digits(name) || is_interpreter(name) ||
         is_one_of(kCommon, name);
}

bool is_public_library(std::string_view name) {
  return name.find(".so") != std::string_view::npos &&
         std::any_of(std::begin(kLibraries), std::end(kLibraries),
                     [&](const char* one) { return name.starts_with(one); });
}

bool is_public_object(std::string_view name) {
  return is_interpreter(name) || is_public_library(name);
}

bool is_public_package(std::string_view name) {
  return is_one_of(kPackages, name);
}

std::string_view known_suffix(std::string_view name) {
  const std::size_t library = name.find(".so");
  const std::string_view version = library == std::string_view::npos ? "x" : name.substr(library + 3);
  if (std::all_of(version.begin(), version.end(), [](char c) { return c == '.' || (c >= '0' && c <= '9'); }))
    return name.substr(library);
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || dot == 0) return {};
  return is_one_of(kSuffixes, name.substr(dot)) ? name.substr(dot) : std::string_view{};
}

} // namespace memtrace::redact
