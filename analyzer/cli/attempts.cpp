// Room: cli.
// Job: the attempts of a job in one directory: which traces are of which.
#include "cli/attempts.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string_view>

#include "cli/usage.h"

namespace memtrace::cli {
namespace {

namespace fs = std::filesystem;

template <class T>
bool number(std::string_view text, T& value, int base) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

bool read(const fs::path& path, AttemptFile& out) {
  std::ifstream file(path, std::ios::binary);
  bool attempt = false, began = false;
  std::string line;
  for (int lines = 0; lines < 16 && std::getline(file, line); ++lines) {
    if (line.starts_with("attempt=")) attempt = number(std::string_view(line).substr(8), out.attempt, 10);
    if (line.starts_with("began=")) began = number(std::string_view(line).substr(6), out.began, 16);
  }
  return attempt && began && out.attempt != 0;
}

// HOST-PID-START.memtrace; none: a name of another sort.
std::optional<std::uint64_t> start_of(const std::string& trace) {
  const std::string stem = fs::path(trace).stem().string();
  const std::size_t dash = stem.rfind('-');
  std::uint64_t start = 0;
  if (dash == std::string::npos || !number(std::string_view(stem).substr(dash + 1), start, 16))
    return std::nullopt;
  return start;
}

} // namespace

std::vector<AttemptFile> attempts_in(const std::string& directory) {
  std::map<std::uint32_t, std::uint64_t> began; // by attempt
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    AttemptFile file;
    if ((name != "job" && !name.starts_with("job-")) || !read(at->path(), file)) continue;
    const auto [known, fresh] = began.try_emplace(file.attempt, file.began);
    if (!fresh) known->second = std::min(known->second, file.began);
  }
  std::vector<AttemptFile> out;
  out.reserve(began.size());
  for (const auto& [attempt, when] : began) out.push_back({attempt, when});
  return out;
}

std::vector<std::string> traces_of_attempt(const std::string& directory, const std::vector<std::string>& traces,
                                           std::optional<std::uint32_t> attempt) {
  const std::vector<AttemptFile> attempts = attempts_in(directory);
  if (attempts.empty() && !attempt) return traces;
  const auto between = [&](std::uint64_t from, std::uint64_t to) {
    std::vector<std::string> out;
    std::copy_if(traces.begin(), traces.end(), std::back_inserter(out), [&](const std::string& trace) {
      const auto start = start_of(trace);
      return start && *start >= from && *start < to;
    });
    return out;
  };
  std::vector<std::string> found;
  for (std::size_t i = attempts.size(); i-- > 0 && found.empty();) {
    if (attempt && attempts[i].attempt != *attempt) continue;
    const std::uint64_t from = i == 0 ? 0 : attempts[i].began;
    const std::uint64_t to = i + 1 < attempts.size() ? attempts[i + 1].began : ~std::uint64_t{0};
    found = between(from, to);
  }
  if (!found.empty()) return found;
  if (!attempt) return traces; // none has a name that says when it began
  const std::string known = attempts.empty()       ? "no file that tells of attempts"
                            : attempts.size() == 1 ? "attempt 1 alone"
                                                   : fmt::format("attempts {} to {}", attempts.front().attempt,
                                                                 attempts.back().attempt);
  throw Usage(fmt::format("--attempt {}: no trace of it in {}; that has {}", *attempt, directory, known));
}

} // namespace memtrace::cli
