// Purpose: compresses bytes for readers that know only gzip: browsers, pprof.
#include "analyzer/files/gzip.h"

#include <zlib.h>

#include <new>
#include <stdexcept>

namespace memtrace::files {

std::string gzip(std::string_view bytes) {
  constexpr int kGzip = 16 + MAX_WBITS; // the largest window, and the format gzip
  constexpr int kMostMemory = 9;
  z_stream stream{};
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzip, kMostMemory, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::bad_alloc();
  std::string out(deflateBound(&stream, bytes.size()), '\0');
  // zlib does not write to its input, but an older zlib.h does not say so.
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int status = deflate(&stream, Z_FINISH);
  const bool whole = status == Z_STREAM_END && stream.total_in == bytes.size();
  out.resize(stream.total_out);
  deflateEnd(&stream);
  if (!whole) throw std::runtime_error("the output is larger than gzip takes at once (4 GiB)");
  return out;
}

} // namespace memtrace::files
