// Purpose: lists the segments of one trace file that are whole, and the damage between them.
#include "analyzer/decode/segment_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "analyzer/decode/read_error.h"
#include "analyzer/files/read_budget.h"
#include "preload/format/crc32c.h"

namespace memtrace::trace {
namespace {

constexpr std::size_t kHeader = sizeof(format::SegmentHeader);
// Bytes of payloads whose checksum is wrong. A hostile file may be full of headers, each before a payload of 1
// MiB. Beyond this limit plus four times the size of the file, no segment is accepted.
constexpr std::uint64_t kMostInVain = 64 << 20;
constexpr std::size_t kMagic = sizeof format::kSegmentMagic;

bool has_magic(const void* bytes) {
  return std::memcmp(bytes, format::kSegmentMagic, kMagic) == 0;
}

// Returns the version of memtrace in the payload of a segment of source `writer`. Returns "" if it is not one:
// the text goes to the terminal.
std::string version_in(const std::vector<std::uint8_t>& payload) {
  const auto belongs = [](std::uint8_t c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '.' || c == '-' || c == '+';
  };
  if (payload.size() > format::kLongestWriter || !std::all_of(payload.begin(), payload.end(), belongs))
    return "";
  return {payload.begin(), payload.end()};
}

} // namespace

File::File(const std::string& path, files::Origin origin) : path_(path) {
  std::string why;
  descriptor_ = files::open_to_read(path, origin, why);
  if (descriptor_ < 0) throw ReadError(path, 0, "expected a readable file: " + why);
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0) return;
  constexpr std::uint64_t kBlock = 512; // the unit of st_blocks
  try {
    files::Budget::of_command().reads(path, status.st_dev, status.st_ino,
                                      std::min(static_cast<std::uint64_t>(status.st_size),
                                               kBlock * static_cast<std::uint64_t>(status.st_blocks)));
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
}

File::~File() {
  ::close(descriptor_);
}

std::uint64_t File::size() const {
  struct stat status {};
  return ::fstat(descriptor_, &status) == 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
}

std::uint64_t File::next_data(std::uint64_t offset) const {
  const off_t at = ::lseek(descriptor_, static_cast<off_t>(offset), SEEK_DATA);
  if (at >= 0) return static_cast<std::uint64_t>(at);
  return errno == ENXIO ? size() : offset; // the file system does not support holes
}

std::size_t File::read(std::uint64_t offset, void* out, std::size_t bytes) const {
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t got =
        ::pread(descriptor_, static_cast<char*>(out) + done, bytes - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

SegmentIndex::SegmentIndex(const File& file, Progress* progress, Verify verify)
    : file_(file), progress_(progress), verify_(verify) {
  extend();
  if (segments_.empty()) refuse();
}

SegmentIndex::SegmentIndex(const File& file, std::uint64_t trace_id, Verify verify)
    : file_(file), verify_(verify), trace_id_(trace_id) {
  extend();
}

void SegmentIndex::refuse() const {
  if (size_ == 0)
    throw ReadError(file_.path(), 0, "the file is empty: its process ended while it opened the trace");
  format::SegmentHeader header{};
  const std::size_t got = file_.read(0, &header, kHeader);
  if (got < kMagic || !has_magic(&header)) {
    throw ReadError(file_.path(), 0, "expected a memtrace trace (magic \"MTS\"), but this is something else");
  }
  if (got < kHeader)
    throw ReadError(file_.path(), got, "expected the rest of a 64-byte segment header, but the file ends");
  if (newer_.count != 0) refuse_version(newer_.version);
  if (!format::is_known(header.version)) refuse_version(header.version);
  if (!writer_.empty() && damage_.bytes == 0)
    throw ReadError(file_.path(), size_,
                    "the trace has no records: its process ended while it opened the trace");
  throw ReadError(file_.path(), 0, "expected at least one whole segment, but all are cut off or damaged");
}

void SegmentIndex::refuse_version(std::uint16_t found) const {
  std::string text = "expected trace version " + std::to_string(format::kOldestVersion);
  if (format::kOldestVersion != format::kVersion) text += " to " + std::to_string(format::kVersion);
  text += ", found " + std::to_string(found);
  if (found > format::kVersion) {
    text += writer_.empty()
                ? " of a newer memtrace; install that version or later"
                : ", written by memtrace " + writer_ + "; install memtrace " + writer_ + " or later";
  }
  throw ReadError(file_.path(), offsetof(format::SegmentHeader, version), text);
}

// True if a whole segment begins at `offset`: the header is valid and the payload complete. `header` gets the
// header as it is in the file.
bool SegmentIndex::whole(std::uint64_t offset, format::SegmentHeader& header) {
  if (size_ - offset < kHeader || file_.read(offset, &header, kHeader) != kHeader) return false;
  if (!has_magic(header.magic) || header.version < format::kOldestVersion) return false;
  if (header.payload_bytes > format::kMaxPayload || size_ - offset - kHeader < header.payload_bytes)
    return false;
  if (trace_id_ != 0 && header.trace_id != trace_id_) return false;
  if (checked_in_vain_ > kMostInVain + 4 * size_) return false;
  // The first segment tells the trace, and keep() does not see `writer`.
  const auto source = static_cast<format::Source>(header.source);
  const bool now = source == format::Source::keyframe || source == format::Source::writer || trace_id_ == 0;
  if (verify_ == Verify::kept && !now) return true;
  return read_payload({offset, header}) && holds(header);
}

// Reads the payload into `buffer_`. Returns false if the file ends early.
bool SegmentIndex::read_payload(const Segment& segment) {
  buffer_.resize(segment.header.payload_bytes);
  return file_.read(segment.offset + kHeader, buffer_.data(), buffer_.size()) == buffer_.size();
}

// True if the checksum is that of the header and of the payload in `buffer_`.
bool SegmentIndex::holds(const format::SegmentHeader& header) {
  format::SegmentHeader blank = header;
  blank.checksum = 0;
  const bool equal =
      format::checksum(format::checksum(0, &blank, kHeader), buffer_.data(), buffer_.size()) == header.checksum;
  if (!equal) checked_in_vain_ += header.payload_bytes;
  return equal;
}

void SegmentIndex::keep(const std::vector<bool>& left_out) {
  verify_ = Verify::listed;
  damage_ = damage_before_tail_;
  std::vector<Segment> kept;
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    if (!left_out.empty() && left_out[i]) {
      ends_left_out_ = true;
      continue;
    }
    Segment& segment = segments_[i];
    segment.after_left_out = ends_left_out_;
    if (read_payload(segment) && holds(segment.header)) {
      if (is_of_stretch(static_cast<format::Source>(segment.header.source))) ends_left_out_ = false;
      kept.push_back(segment);
    } else {
      lost(segment.offset, segment.offset + kHeader + segment.header.payload_bytes);
    }
  }
  segments_ = std::move(kept);
  damage_before_tail_ = damage_;
  extend();
}

// Returns the next offset from `from` on where a segment may begin. Returns the size of the file if there is
// none.
std::uint64_t SegmentIndex::find_magic(std::uint64_t from) const {
  char chunk[1 << 16];
  std::size_t most = 1 << 8; // mostly it is near, and bytes beyond it are read again
  while ((from = file_.next_data(from)) < size_) {
    const std::size_t got = file_.read(from, chunk, std::min<std::uint64_t>(most, size_ - from));
    most = std::min(4 * most, sizeof chunk);
    if (got < kMagic) return size_;
    const char* hit = std::search(chunk, chunk + got, format::kSegmentMagic, format::kSegmentMagic + kMagic);
    if (hit != chunk + got) return from + static_cast<std::uint64_t>(hit - chunk);
    from += got - (kMagic - 1);
  }
  return size_;
}

void SegmentIndex::lost(std::uint64_t from, std::uint64_t to) {
  if (from == to) return;
  if (damage_.bytes == 0) damage_.first_offset = from;
  damage_.bytes += to - from;
}

// Counts the records of a last segment that was being written when the process died. Its header may tell how
// many are missing.
void SegmentIndex::note_torn(std::uint64_t offset) {
  format::SegmentHeader header{};
  if (file_.read(offset, &header, kHeader) != kHeader || !has_magic(header.magic)) return;
  if (header.trace_id != trace_id_ || header.payload_bytes > format::kMaxPayload) return;
  if (!format::is_known(header.version)) return;
  if (size_ - offset - kHeader >= header.payload_bytes) return; // complete, so it is damaged, not torn
  if (header.source != static_cast<std::uint8_t>(format::Source::definitions)) {
    damage_.torn_records += std::min(header.records, header.payload_bytes / 3);
  }
}

// Takes a whole segment. Its payload is in `buffer_`.
void SegmentIndex::take(const Segment& segment) {
  trace_id_ = segment.header.trace_id;
  if (segment.header.source == static_cast<std::uint8_t>(format::Source::writer)) {
    writer_ = version_in(buffer_);
    if (!writer_.empty()) writer_segment_ = segment;
  } else if (segment.header.version > format::kVersion) {
    ++newer_.count;
    newer_.bytes += kHeader + segment.header.payload_bytes;
    newer_.version = std::max(newer_.version, segment.header.version);
  } else {
    segments_.push_back(segment);
  }
}

void SegmentIndex::extend() {
  damage_ = damage_before_tail_;
  size_ = file_.size();
  std::uint64_t at = next_;
  while (at < size_) {
    Segment segment{at, {}};
    if (progress_ != nullptr) progress_->at("checking", at, size_);
    if (whole(at, segment.header)) {
      lost(next_, at);
      take(segment);
      at += kHeader + segment.header.payload_bytes;
      next_ = at;
      damage_before_tail_ = damage_;
      continue;
    }
    at = find_magic(at + 1);
  }
  if (next_ < size_) {
    lost(next_, size_);
    if (!segments_.empty()) note_torn(next_);
  }
}

} // namespace memtrace::trace
