// Purpose: reads the logs in which the managers of this machine write.
#include "analyzer/evidence/sources/manager_log_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "analyzer/evidence/sources/manager_log.h"
#include "analyzer/files/reading.h"

namespace memtrace::evidence {
namespace {

constexpr std::int64_t kMostOfLog = 16 << 20; // bytes: days of a log

// Returns the end of the file, or "" if it cannot be read.
std::string end_of_file(const std::string& path) {
  std::string why;
  const int file = files::open_to_read(path, files::Origin::system, why);
  if (file < 0) return "";
  struct stat status {};
  std::string text;
  if (::fstat(file, &status) == 0) {
    const std::int64_t bytes = std::min<std::int64_t>(status.st_size, kMostOfLog);
    text.resize(static_cast<std::size_t>(bytes));
    const ssize_t got = ::pread(file, text.data(), text.size(), status.st_size - bytes);
    text.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
  }
  ::close(file);
  return text;
}

} // namespace

void read_manager_logs(Evidence& into, double near_unix, const std::string& root) {
  for (const char* path : {"/var/log/syslog", "/var/log/messages"}) {
    Evidence found;
    ManagerLog(found, near_unix).all(end_of_file(root + path));
    std::erase_if(found.manager_kills, [](const ManagerKill& kill) {
      return kill.manager != "systemd-oomd" && kill.manager != "earlyoom"; // the others do not write there
    });
    found.statements.clear();
    add(into, found);
  }
}

} // namespace memtrace::evidence
