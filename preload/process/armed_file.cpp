// Purpose: the file of an armed process: `memtrace arm` calls through it, and the process answers there.
// Runs: inside hooks, guard held, except where said.
#include "preload/process/armed_file.h"

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

void set_state(ArmedState state) {
  __atomic_store_n(&armed_watch.file->state, static_cast<std::uint32_t>(state), __ATOMIC_RELEASE);
}

} // namespace

format::ArmedFile* armed_file() {
  return __atomic_load_n(&armed_watch.file, __ATOMIC_ACQUIRE);
}

bool armed_file_was_tried() {
  return __atomic_load_n(&was_tried, __ATOMIC_RELAXED);
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
  fill(*made);
  __atomic_store_n(&armed_watch.file, made, __ATOMIC_RELEASE);
}

void answer_call(bool records, const Path& trace) {
  ArmedFile* const file = armed_watch.file;
  if (file == nullptr) return;
  const char* const slash = std::strrchr(trace.text(), '/');
  const char* const name = slash == nullptr ? trace.text() : slash + 1;
  for (std::size_t i = 0; i + 1 < sizeof file->trace && name[i] != '\0'; ++i) file->trace[i] = name[i];
  set_state(records ? ArmedState::recording : ArmedState::failed);
}

void answer_stop() {
  if (armed_watch.file != nullptr) set_state(ArmedState::stopped);
}

void remove_armed_file() {
  if (path.size() == 0) return;
  os::unlink(path.text());
  path.clear();
  remove_directories(place.directory.text(), made_from);
}

void forget_armed_file() {
  armed_watch = {nullptr, INT64_MIN};
  was_tried = false;
  path.clear();
}

} // namespace memtrace::record
