// Purpose: decompresses a zstd file from its beginning to its end.
#include "analyzer/archive/zstd_reader.h"

#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <vector>

#include "analyzer/decode/read_error.h"
#include "analyzer/files/reading.h"

namespace memtrace::archive {
namespace {

constexpr unsigned char kZstdMagic[4] = {0x28, 0xB5, 0x2F, 0xFD};

} // namespace

struct ZstdReader::State {
  State() : context(ZSTD_createDCtx()), buffer(ZSTD_DStreamInSize()) {
    if (context == nullptr) throw std::bad_alloc();
    ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, kMostWindowLog);
  }
  ~State() { ZSTD_freeDCtx(context); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  ZSTD_DCtx* context;
  std::vector<char> buffer;
  ZSTD_inBuffer in{buffer.data(), 0, 0};
  bool in_frame = true; // a frame has begun, or the first one should
};

bool is_zstd(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
  std::string why;
  const int fd = files::open_to_read(path, files::Origin::named, why);
  if (fd < 0) return false;
  unsigned char magic[sizeof kZstdMagic] = {};
  const bool equal = ::pread(fd, magic, sizeof magic, 0) == static_cast<ssize_t>(sizeof magic) &&
                     std::memcmp(magic, kZstdMagic, sizeof magic) == 0;
  ::close(fd);
  return equal;
}

ZstdReader::ZstdReader(const std::string& path) : path_(path), state_(std::make_unique<State>()) {
  std::string why;
  descriptor_ = files::open_to_read(path, files::Origin::named, why);
  if (descriptor_ < 0) throw trace::ReadError(path, 0, "expected a readable file: " + why);
  struct stat status {};
  if (::fstat(descriptor_, &status) == 0) file_bytes_ = static_cast<std::uint64_t>(status.st_size);
}

ZstdReader::~ZstdReader() {
  ::close(descriptor_);
}

// Reads the next bytes of the file. Returns false at its end.
bool ZstdReader::refill() {
  ssize_t got;
  do {
    got = ::read(descriptor_, state_->buffer.data(), state_->buffer.size());
  } while (got < 0 && errno == EINTR);
  if (got < 0)
    throw trace::ReadError(path_, read_bytes_, std::string("expected more bytes: ") + std::strerror(errno));
  state_->in = {state_->buffer.data(), static_cast<std::size_t>(got), 0};
  read_bytes_ += static_cast<std::uint64_t>(got);
  return got != 0;
}

std::size_t ZstdReader::read(char* out, std::size_t bytes) {
  ZSTD_outBuffer to{out, bytes, 0};
  while (to.pos < to.size && !cut_) {
    // Decompressed bytes may wait in the context although the input is used up.
    const std::size_t before = to.pos;
    const bool fresh = state_->in.pos < state_->in.size || refill();
    if (!fresh && !state_->in_frame) break;
    const std::size_t left = ZSTD_decompressStream(state_->context, &to, &state_->in);
    if (ZSTD_isError(left) != 0)
      throw trace::ReadError(path_, read_bytes_ - (state_->in.size - state_->in.pos),
                             std::string("expected the rest of a zstd file: ") + ZSTD_getErrorName(left));
    state_->in_frame = left != 0;
    cut_ = !fresh && state_->in_frame && to.pos == before;
  }
  content_bytes_ += to.pos;
  return to.pos;
}

} // namespace memtrace::archive
