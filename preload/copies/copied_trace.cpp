// Purpose: copies the files of one trace from a local directory to the job's directory on a shared file system.
// Runs: on memtrace's own thread.
#include "preload/copies/copied_trace.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <iterator>

#include "preload/os/files.h"
#include "preload/os/mappings.h"
#include "preload/os/paths.h"

namespace memtrace::record {
namespace {

constinit char* buffer = nullptr; // kCopyPiece bytes
constinit Path named{};
constinit Path joined{};

// A forked child would otherwise hold the pages, too.
bool has_buffer() {
  if (buffer != nullptr) return true;
  buffer = static_cast<char*>(os::map_private(kCopyPiece));
  if (buffer != nullptr) os::advise(buffer, kCopyPiece, MADV_DONTFORK);
  return buffer != nullptr;
}

// True if the page has no byte but 0. A copy leaves it out: a ring file has many.
bool is_empty(const char* page, std::size_t bytes) {
  return page[0] == 0 && std::memcmp(page, page + 1, bytes - 1) == 0;
}

long write_at_shared(long fd, std::uint64_t offset, const char* data, std::size_t bytes) {
  while (bytes != 0) {
    const OnShared timed;
    const long put = os::write_at(fd, offset, data, bytes);
    if (put <= 0) return put < 0 ? put : -EIO;
    offset += static_cast<std::uint64_t>(put);
    data += put;
    bytes -= static_cast<std::size_t>(put);
  }
  return 0;
}

long write_sparse(long fd, std::uint64_t offset, std::size_t bytes) {
  long result = 0;
  for (std::size_t at = 0; at < bytes && result == 0;) {
    std::size_t end = at; // of the pages that have content
    while (end < bytes) {
      const std::size_t page = bytes - end < format::kPage ? bytes - end : format::kPage;
      if (is_empty(buffer + end, page)) break;
      end += page;
    }
    if (end != at) result = write_at_shared(fd, offset + at, buffer + at, end - at);
    at = end + format::kPage;
  }
  return result;
}

// Copies from `from` until its end. The bytes at `*done` of it go to `*done + shift`. A piece that is not whole
// is the last one: if `go_on` was asked for the end, a trace that grew meanwhile was never copied to its end.
long copy_bytes(long from, long to, std::uint64_t* done, std::uint64_t shift, bool sparse, GoOn go_on) {
  for (;;) {
    if (!go_on()) return kStopped;
    const long got = os::read_at(from, *done, buffer, kCopyPiece);
    if (got <= 0) return got;
    const auto bytes = static_cast<std::size_t>(got);
    const long result =
        sparse ? write_sparse(to, *done + shift, bytes) : write_at_shared(to, *done + shift, buffer, bytes);
    if (result != 0) return result;
    *done += bytes;
    if (bytes < kCopyPiece) return 0;
  }
}

long open_shared(const char* path, bool may_make) {
  const OnShared timed;
  long fd = os::open_own(path, os::For::changing);
  if (fd == -ENOENT && may_make) fd = os::create(path);
  return fd;
}

// Some network file systems write when a file is closed, and tell then whether that worked. Others do not, so
// the local files are removed only after a sync.
long close_shared(long fd, long result, bool synced) {
  long wrote = 0;
  if (synced && result == 0) {
    const OnShared timed;
    wrote = os::sync(fd);
  }
  const OnShared timed;
  const long closed = os::close(fd);
  if (result < 0) return result;
  return wrote < 0 ? wrote : closed < 0 ? closed : result;
}

// True once another process has copied the whole trace and removes, or has removed, local files.
bool is_copied(const char* local) {
  return os::exists(with_suffix(local, format::kCopiedSuffix));
}

// Copies one file into STEM.rest. A file that was open before STEM.copied existed is whole. If another process
// was faster, its STEM.rest must not be written over by one with fewer files.
long copy_file(const char* local, long to, RestProgress* progress, GoOn go_on) {
  const char* const suffix = format::kOtherSuffixes[progress->file];
  const long from = os::open_own(with_suffix(local, suffix), os::For::reading);
  if (is_copied(local)) {
    if (from >= 0) os::close(from);
    return -EEXIST;
  }
  if (from < 0 && (from != -ENOENT || progress->done != 0)) return from;
  if (from >= 0) {
    const long result = copy_bytes(from, to, &progress->done, progress->end, true, go_on);
    os::close(from);
    if (result != 0) return result;
    format::RestPart& part = progress->header.part[progress->header.parts++];
    for (std::size_t i = 0; i + 1 < sizeof part.suffix && suffix[i] != '\0'; ++i) part.suffix[i] = suffix[i];
    part.offset = progress->end;
    part.bytes = progress->done;
    progress->end += (progress->done + format::kPage - 1) / format::kPage * format::kPage;
  }
  progress->done = 0;
  ++progress->file;
  return 0;
}

// The files reach the server before the header that names them.
long write_header(long to, format::RestHeader* header) {
  std::memcpy(header->magic, format::kRestMagic, sizeof header->magic);
  long result;
  {
    const OnShared timed;
    result = os::sync(to);
  }
  return result < 0 ? result : write_at_shared(to, 0, reinterpret_cast<const char*>(header), sizeof *header);
}

bool has_rest(const char* local) {
  for (const char* suffix : format::kOtherSuffixes)
    if (os::size_of(with_suffix(local, suffix)) > 0) return true;
  return false;
}

// The file of the header replaces the ring file, which a process may still have mapped.
void shorten_rings(const char* local) {
  const long from = has_buffer() ? os::open_own(with_suffix(local, ".rings"), os::For::reading) : -1;
  if (from < 0) return;
  const long bytes = os::read_all(from, buffer, format::kPage);
  os::close(from);
  joined.clear();
  joined.add(with_suffix(local, ".rings-new"));
  os::unlink(joined.text()); // of a process that was killed here
  const long to = bytes > 0 ? os::create(joined.text()) : -1;
  if (to < 0) return;
  const long result = os::write_all(to, buffer, static_cast<std::size_t>(bytes));
  os::close(to);
  if (result < 0) {
    os::unlink(joined.text());
  } else {
    os::rename(joined.text(), with_suffix(local, ".rings"));
  }
}

} // namespace

const char* with_suffix(const char* stem, const char* suffix) {
  named.clear();
  return named.add(stem).add(suffix).text();
}

long copy_appended(const char* from, const char* to, std::uint64_t* done, GoOn go_on, bool synced) {
  const std::uint64_t before = *done;
  const long size = os::size_of(from);
  if (size < 0) return size;
  if (static_cast<std::uint64_t>(size) <= *done && !synced) return 0;
  if (!has_buffer()) return -ENOMEM;
  const long source = os::open_own(from, os::For::reading);
  if (source < 0) return source;
  const long target = open_shared(to, *done == 0);
  long result = target;
  if (target >= 0) result = close_shared(target, copy_bytes(source, target, done, 0, false, go_on), synced);
  if (result < 0) *done = before; // the server may have told at the end that a write before it failed
  os::close(source);
  return result;
}

long copy_rest(const char* local, const char* shared, RestProgress* progress, GoOn go_on) {
  if (!has_rest(local)) return 0;
  if (!has_buffer()) return -ENOMEM;
  const bool begins = progress->file == 0 && progress->done == 0;
  long result = open_shared(with_suffix(shared, format::kRestSuffix), begins);
  if (result >= 0) {
    const long to = result;
    result = 0;
    while (result == 0 && progress->file < std::size(format::kOtherSuffixes))
      result = copy_file(local, to, progress, go_on);
    if (result == 0) result = write_header(to, &progress->header);
    result = close_shared(to, result, true);
  }
  if (result < 0) *progress = {};
  return result;
}

void forget_copy_buffer() {
  buffer = nullptr;
}

bool was_copied(const char* local) {
  return is_copied(local);
}

void remove_copied(const char* local) {
  std::uint64_t bytes = 0;
  const auto add = [&](const char* suffix) {
    const long size = os::size_of(with_suffix(local, suffix));
    if (size > 0) bytes += static_cast<std::uint64_t>(size);
  };
  add(".memtrace");
  for (const char* suffix : format::kOtherSuffixes) add(suffix);
  const long fd = os::create(with_suffix(local, format::kCopiedSuffix));
  if (fd < 0 && fd != -EEXIST)
    return; // without the mark, another process would copy what is left as if it were all
  if (fd >= 0) {
    os::cut(fd, bytes);
    os::close(fd);
  }
  for (const char* suffix : format::kOtherSuffixes)
    if (std::strcmp(suffix, ".rings") != 0) os::unlink(with_suffix(local, suffix));
  shorten_rings(local);                        // it may need the room of the others
  os::unlink(with_suffix(local, ".memtrace")); // the last: without it, nothing is left to copy
}

} // namespace memtrace::record
