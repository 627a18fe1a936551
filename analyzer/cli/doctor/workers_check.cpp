// Purpose: checks whether the workers that Python's multiprocessing starts are traced.
#include "analyzer/cli/doctor/workers_check.h"

#include <fmt/core.h>

#include <filesystem>
#include <optional>

#include "analyzer/cli/common/program_file.h"
#include "analyzer/cli/doctor/scratch_folder.h"
#include "analyzer/cli/doctor/traced_run.h"
#include "analyzer/files/reading.h"

namespace memtrace::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMethods[] = {"fork", "forkserver", "spawn"};

// Writes the pid of a worker, and the method that this Python uses by default. The worker allocates 16 MiB: a
// forked process that allocates less than 1 MiB leaves no trace.
constexpr const char* kScript =
    "import multiprocessing as m,sys;"
    "w=m.get_context(sys.argv[1]).Process(target=bytearray,args=(1<<24,));w.start();w.join();"
    "open(sys.argv[2]+'/pid','w').write(str(w.pid));"
    "open(sys.argv[2]+'/default','w').write(m.get_start_method());sys.exit(w.exitcode)";

} // namespace

std::vector<Check> check_workers(const std::string& library) {
  if (library.empty() || found_in_path("python3").empty()) return {};
  std::string traced, others, by_default;
  for (const std::string method : kMethods) {
    const Folder folder(temporary_place());
    if (folder.path().empty()) return {}; // the check of tracing reports it
    const std::string place = folder.path().string();
    const int status = run_traced({"python3", "-c", kScript, method, place}, library, folder.path());
    const std::optional<bool> found = is_traced_in(folder.path());
    if (status == 0 && found.value_or(false)) {
      traced += (traced.empty() ? "" : ", ") + method;
    } else {
      others += fmt::format("; {}: {}", method, found ? "its worker left no trace" : "no worker started here");
    }
    by_default = files::read_found(folder.path() / "default", files::kMiB).value_or(by_default);
  }
  return {{"workers", others.empty(),
           fmt::format("started by {}: traced{}{}", traced.empty() ? "no method" : traced,
                       by_default.empty() ? "" : fmt::format(" (python3 uses {} by default)", by_default),
                       others)}};
}

} // namespace memtrace::cli
