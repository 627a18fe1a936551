// Purpose: writes the data of a page: sections of columns, with a directory. web/README.md describes the
// format.
#include "analyzer/page/page_block.h"

#include <algorithm>
#include <type_traits>

#include "analyzer/files/gzip.h"

namespace memtrace::report {

template <typename Value>
void PageBlock::add_planes(const std::string& name, const char* type, const std::vector<Value>& values,
                           bool delta) {
  using Bits = std::make_unsigned_t<Value>;
  enter(name, type, values.size(), values.size() * sizeof(Value), delta);
  const std::size_t start = bytes_.size();
  bytes_.resize(start + values.size() * sizeof(Value));
  Bits before = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto value = static_cast<Bits>(values[i]);
    const auto bits = static_cast<Bits>(delta ? value - before : value);
    before = value;
    for (std::size_t plane = 0; plane < sizeof(Value); ++plane)
      bytes_[start + plane * values.size() + i] = static_cast<char>(bits >> (8 * plane) & 0xff);
  }
}

void PageBlock::add(const std::string& name, const std::vector<std::uint8_t>& values) {
  add_planes(name, "u8", values, false);
}

void PageBlock::add(const std::string& name, const std::vector<std::uint32_t>& values) {
  add_planes(name, "u32", values, false);
}

void PageBlock::add(const std::string& name, const std::vector<std::int64_t>& values, bool delta) {
  add_planes(name, "i64", values, delta);
}

void PageBlock::add_text(const std::string& name, std::string_view text) {
  enter(name, "utf8", text.size(), text.size(), false);
  bytes_ += text;
}

void PageBlock::enter(const std::string& name, const char* type, std::size_t count, std::size_t bytes,
                      bool delta) {
  sections_[name] = {{"type", type}, {"count", count}, {"offset", bytes_.size()}, {"bytes", bytes}};
  if (delta) sections_[name]["delta"] = true;
}

std::string PageBlock::take() && {
  const std::string directory = json_line({{"format", "memtrace.page/1"}, {"sections", std::move(sections_)}});
  std::string out;
  for (unsigned byte = 0; byte < 4; ++byte) out += static_cast<char>(directory.size() >> (8 * byte) & 0xff);
  return out + directory + bytes_;
}

std::uint64_t bytes_in_file(const PageBlock& block) {
  return base64(files::gzip(PageBlock(block).take())).size();
}

std::string base64(std::string_view bytes) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::size_t left = std::min<std::size_t>(3, bytes.size() - at);
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < 3; ++i)
      group = group << 8 | (i < left ? static_cast<unsigned char>(bytes[at + i]) : 0u);
    for (std::size_t i = 0; i < 4; ++i) out += i <= left ? kDigits[group >> (18 - 6 * i) & 63] : '=';
  }
  return out;
}

} // namespace memtrace::report
