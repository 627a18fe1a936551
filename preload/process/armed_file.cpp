// Purpose: the file of an armed process: `memtrace arm` calls through it, and the process answers there.
// Runs: inside hooks, guard held, except where said.
#include "preload/process/armed_file.h"

#include <sys/mman.h>

#include <cstring>

#include "preload/job/job_directory.h"
#include "preload/job/local_place.h"
#include "preload/os/files.h"
#include "preload/os/mappings.h"
#include "preload/os/paths.h"
#include "preload/os/threads.h"
#include "preload/process/own_process.h"
#include "preload/state/arming.h"

namespace memtrace::record {

namespace {

using format::ArmedFile;
using format::ArmedState;

constinit Path path{};
constinit std::size_t made_from = 0; // length of the directory that was there before
constinit bool was_tried = false;

void fill(ArmedFile& to) {
  to.pid = static_cast<std::uint32_t>(os::process_id());
  to.rank = place.rank;
  to.local_rank = place.local_rank;
  to.world_size = place.world;
  for (std::size_t i = 0; i < sizeof to.magic; ++i) to.magic[i] = format::kArmedMagic[i];
}

void set_state(ArmedFile& in, ArmedState state) {
  __atomic_store_n(&in.state, static_cast<std::uint32_t>(state), __ATOMIC_RELEASE);
}

} // namespace

bool has_armed_file() {
  return __atomic_load_n(&armed_watch.file, __ATOMIC_ACQUIRE) != nullptr;
}
format::ArmedFile* armed_file() {
  ArmedFile* const made = __atomic_load_n(&armed_watch.file, __ATOMIC_ACQUIRE);
  return made != nullptr && os::is_readable(made) ? made : nullptr;
}
bool armed_file_was_tried() {
  return __atomic_load_n(&was_tried, __ATOMIC_RELAXED);
}
bool is_called(const format::ArmedFile& by) {
  return __atomic_load_n(&by.calls, __ATOMIC_ACQUIRE) != 0 &&
         std::memcmp(by.magic, format::kArmedMagic, sizeof by.magic) == 0;
}

void make_armed_file() {
  if (__atomic_exchange_n(&was_tried, true, __ATOMIC_ACQ_REL)) return;
  settle_place(); // no event may wait for a shared file system
  if (make_directories(place.directory.text(), &made_from) < 0) return;
  path.clear();
  path.add(place.directory.text(), place.directory.size()).add("/").add(place.host.text()).add("-");
  path.add(static_cast<std::uint64_t>(os::process_id())).add("-").add(start_time().unix_ns, 16);
  path.add(format::kArmedSuffix);
  const long fd = path.cut() ? -1 : os::create(path.text());
  if (fd < 0) {
    path.clear();
    return remove_directories(place.directory.text(), made_from);
  }
  ArmedFile* made = nullptr;
  if (os::allocate(fd, 0, format::kArmedBytes) >= 0)
    made = static_cast<ArmedFile*>(os::map_shared(fd, 0, format::kArmedBytes));
  os::close(fd);
  if (made == nullptr) return remove_armed_file();
  os::advise(made, format::kArmedBytes, MADV_DONTFORK); // `memtrace arm` takes a process by its mapping
  fill(*made);
  __atomic_store_n(&armed_watch.file, made, __ATOMIC_RELEASE);
}

void answer_call(bool records, const Path& trace) {
  ArmedFile* const answered = armed_file();
  if (answered == nullptr) return;
  const char* const slash = std::strrchr(trace.text(), '/');
  const char* const name = slash == nullptr ? trace.text() : slash + 1;
  for (std::size_t i = 0; i + 1 < sizeof answered->trace && name[i] != '\0'; ++i) answered->trace[i] = name[i];
  set_state(*answered, records ? ArmedState::recording : ArmedState::failed);
}

void answer_stop() {
  if (ArmedFile* const answered = armed_file(); answered != nullptr) set_state(*answered, ArmedState::stopped);
}

void remove_armed_file() {
  if (path.size() == 0) return;
  os::unlink(path.text());
  path.clear();
  remove_directories(place.directory.text(), made_from);
}

void forget_armed_file() {
  armed_watch = {nullptr, INT64_MIN, 0, 0, 0};
  was_tried = false;
  path.clear();
}

} // namespace memtrace::record
