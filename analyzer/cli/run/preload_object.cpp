// Purpose: the preload object of this installation, and its place in LD_PRELOAD.
#include "analyzer/cli/run/preload_object.h"

#include <algorithm>
#include <vector>

#include "analyzer/cli/common/install_paths.h"
#include "analyzer/job/usage_error.h"

namespace memtrace::cli {
namespace {

constexpr const char* kSeparators = ": "; // the dynamic loader splits LD_PRELOAD at both

std::vector<std::string> objects_of(const std::string& list) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < list.size();) {
    const std::size_t end = std::min(list.find_first_of(kSeparators, at), list.size());
    if (end > at) out.push_back(list.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

} // namespace

std::string preload_object() {
  std::string object = installed_library("libmemtrace.so");
  if (object.empty())
    throw report::UsageError(expected_library("libmemtrace.so") +
                             ": not there; install memtrace with cmake --install");
  if (object.find_first_of(kSeparators) != std::string::npos)
    throw report::UsageError(object +
                             ": LD_PRELOAD cannot hold a path with a space or a colon; install memtrace " +
                             "in another directory");
  return object;
}

std::string with_object(const std::string& object, const std::string& list) {
  const std::vector<std::string> objects = objects_of(list);
  if (std::find(objects.begin(), objects.end(), object) != objects.end()) return list;
  return list.empty() ? object : object + ":" + list;
}

std::string without_object(const std::string& object, const std::string& list) {
  std::string out;
  for (const std::string& one : objects_of(list))
    if (one != object) out += (out.empty() ? "" : ":") + one;
  return out;
}

} // namespace memtrace::cli
