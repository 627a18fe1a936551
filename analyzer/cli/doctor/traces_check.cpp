// Purpose: checks where the traces of a job that is started here go.
#include "analyzer/cli/doctor/traces_check.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "analyzer/cli/doctor/scratch_folder.h"
#include "analyzer/cli/doctor/traced_run.h"

namespace memtrace::cli {
namespace {

namespace fs = std::filesystem;

// Returns the directory that "recording to DIR" or "recording to DIR (why)" names.
fs::path recorded_to(const std::string& said) {
  constexpr std::string_view kBegin = "recording to ";
  const std::size_t at = said.find(kBegin);
  if (at == std::string::npos) return {};
  const std::size_t from = at + kBegin.size();
  const std::size_t end = std::min({said.find(" (", from), said.find('\n', from), said.size()});
  return said.substr(from, end - from);
}

// Returns what the placeholders in a directory's name mean, or "" if it has none.
std::string meaning_of(const std::string& directory) {
  constexpr std::pair<const char*, const char*> kMeanings[] = {
      {"%j", "the job's id, new for each run"}, {"%p", "the pid"}, {"%h", "the host"}, {"%r", "the rank"}};
  std::string out;
  for (const auto& [placeholder, meaning] : kMeanings)
    if (directory.find(placeholder) != std::string::npos)
      out += fmt::format("{}{} is {}", out.empty() ? " (" : ", ", placeholder, meaning);
  return out.empty() ? "" : out + ")";
}

// Removes the job that the try left, if it is where the recorder puts jobs that it cannot put where it should.
void remove_job(const fs::path& job) {
  const fs::path parent = job.parent_path();
  if (parent.filename() != fmt::format("memtrace-{}", ::geteuid())) return;
  std::error_code error;
  fs::remove_all(job, error);
  fs::remove(parent, error); // fails if other jobs are in it
}

} // namespace

Check check_traces(const std::string& library) {
  const std::string wanted = wanted_directory();
  const fs::path place = place_of_traces();
  if (const Folder there(place); !there.path().empty())
    return {"traces", true, "go to " + wanted + meaning_of(wanted)};
  std::string said;
  if (!library.empty()) run_traced({"/bin/sh", "-c", ":"}, library, wanted, {}, &said);
  remove_job(recorded_to(said));
  const std::size_t begin = said.find("memtrace: ");
  const std::string line =
      begin == std::string::npos ? "" : said.substr(begin + 10, said.find('\n', begin) - begin - 10);
  return {"traces", false,
          fmt::format("{} cannot be written{}; set MEMTRACE_OUT to a directory that outlives the program",
                      place.string(), line.empty() ? "" : ": memtrace says \"" + line + "\"")};
}

} // namespace memtrace::cli
