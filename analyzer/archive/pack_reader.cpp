// Purpose: opens a packed file: its members become files that the command can read.
#include "analyzer/archive/pack_reader.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

#include "analyzer/archive/pack_list.h"
#include "analyzer/archive/tar_header.h"
#include "analyzer/archive/zstd_reader.h"
#include "analyzer/columns/file_columns.h"
#include "analyzer/decode/read_error.h"
#include "analyzer/files/packed_files.h"
#include "analyzer/files/read_budget.h"
#include "analyzer/files/reading.h"

namespace memtrace::archive {
namespace {

constexpr std::uint64_t kMostList = 16 * files::kMiB;
// Most bytes of content. Ring files consist of zeros for the most part, so they shrink more than a hundredfold.
constexpr std::uint64_t kMostContent = 1024 * files::kMiB;
constexpr std::uint64_t kContentPerByte = 100;
constexpr std::size_t kPiece = 1 << 17;

class Unpacking {
 public:
  explicit Unpacking(const std::string& path) : path_(path), from_(path), piece_(kPiece, '\0') {
    most_ = kMostContent + kContentPerByte * from_.file_bytes();
    if (files::Budget::of_command().is_lifted()) most_ = ~std::uint64_t{0};
  }

  // Returns "", or one line if the file was cut off.
  std::string all() {
    files::PackedFiles::of_command().add(path_);
    while (const std::optional<TarMember> member = next()) {
      if (seen_.empty()) {
        take_list(*member);
      } else {
        store(*member);
      }
      if (from_.cut()) break;
      seen_.insert({member->name, file_name(*member)});
      skip(tar_padding(member->bytes));
    }
    return check_end();
  }

 private:
  [[noreturn]] void refuse(std::uint64_t offset, const std::string& expected) const {
    throw trace::ReadError(path_ + " (decompressed)", offset, expected);
  }

  // Returns nullopt at the end of the archive.
  std::optional<TarMember> next() {
    const std::uint64_t at = from_.content_bytes();
    std::string block(kTarBlock, '\0');
    const std::size_t got = from_.read(block.data(), block.size());
    ended_ = got == block.size() && std::all_of(block.begin(), block.end(), [](char c) { return c == 0; });
    if (got < block.size() || ended_) return std::nullopt;
    std::string expected;
    std::optional<TarMember> member = parse_tar_header(block, expected);
    if (!member) refuse(at, expected);
    if (seen_.contains(member->name) || seen_.contains(file_name(*member)))
      refuse(at, "expected each name once, but \"" + member->name + "\" comes again");
    if (member->bytes > most_ - std::min(most_, from_.content_bytes())) refuse_size(at);
    return member;
  }

  [[noreturn]] void refuse_size(std::uint64_t at) const {
    refuse(at, "expected at most " + std::to_string(most_ / files::kMiB) +
                   " MiB, the most that a packed file of this size may hold; --unbounded lifts the bound");
  }

  // Only traces and windows: a host may be named node.columns.
  static bool has_columns(const TarMember& member) {
    if (!member.name.ends_with(kColumnsSuffix)) return false;
    const std::string file = member.name.substr(0, member.name.size() - (sizeof kColumnsSuffix - 1));
    constexpr std::string_view kWindow = ".window-";
    const std::string without_number = file.substr(0, file.size() - std::min<std::size_t>(file.size(), 1));
    return file.ends_with(".memtrace") || without_number.ends_with(kWindow);
  }
  // Returns the name of the file that the member holds.
  static std::string file_name(const TarMember& member) {
    if (!has_columns(member)) return member.name;
    return member.name.substr(0, member.name.size() - (sizeof kColumnsSuffix - 1));
  }

  // Gives the content of the member to `take`, piece by piece. It ends early if the file was cut off.
  template <class Take>
  void each_piece(std::uint64_t bytes, Take take) {
    while (bytes != 0) {
      const std::size_t got = from_.read(piece_.data(), std::min<std::uint64_t>(piece_.size(), bytes));
      if (got == 0) return;
      take(std::string_view(piece_.data(), got));
      bytes -= got;
    }
  }

  void skip(std::uint64_t bytes) {
    each_piece(bytes, [](std::string_view) {});
  }

  void take_list(const TarMember& member) {
    if (member.name != kListName || member.bytes > kMostList)
      refuse(0, std::string("expected ") + kListName + ", the first file of a packed trace, but found \"" +
                    member.name + "\"");
    std::string text;
    each_piece(member.bytes, [&](std::string_view piece) { text += piece; });
    if (text.size() < member.bytes) return;
    const std::optional<PackList> list = parse_list(text);
    if (!list || (list->schema != kPackSchema && list->schema != kFirstSchema))
      refuse(kTarBlock, std::string("expected the schema ") + kPackSchema + ", found \"" +
                            (list ? list->schema : "") + "\"" +
                            (list && !list->memtrace.empty() ? " of memtrace " + list->memtrace : ""));
    list_ = *list;
  }

  void store(const TarMember& member) {
    if (has_columns(member)) return store_columns(member);
    files::PackedFiles::of_command().add(path_, member.name);
    each_piece(member.bytes, [&](std::string_view piece) { append(piece); });
  }

  // If the packed file was cut off in the first block of columns, there is no such file.
  void store_columns(const TarMember& member) {
    const std::uint64_t at = from_.content_bytes();
    bool begun = false;
    columns::FromColumns columns([&](std::string_view bytes) {
      if (!std::exchange(begun, true)) files::PackedFiles::of_command().add(path_, file_name(member));
      restored_ += bytes.size();
      if (restored_ > most_) refuse_size(at);
      append(bytes);
    });
    bool valid = true;
    each_piece(member.bytes, [&](std::string_view piece) { valid = valid && columns.add(piece); });
    if (!valid || (!columns.at_end() && !from_.cut()))
      refuse(at, "expected the columns of a trace in \"" + member.name + "\"");
    if (!begun && !from_.cut()) files::PackedFiles::of_command().add(path_, file_name(member)); // it is empty
  }

  void append(std::string_view bytes) {
    if (!files::PackedFiles::of_command().append(bytes))
      throw std::runtime_error(path_ + ": cannot be unpacked (" + std::strerror(errno) +
                               "); set TMPDIR to a directory with more room");
  }

  // Reads to the end of the file, because its last bytes are a checksum. Returns one line if it ended early.
  std::string check_end() {
    if (ended_) skip(~std::uint64_t{0});
    const auto whole = static_cast<std::size_t>(
        std::count_if(list_.members.begin(), list_.members.end(),
                      [this](const std::string& name) { return seen_.contains(name); }));
    if (ended_ && !from_.cut() && whole == list_.members.size()) return "";
    const std::vector<std::string> stored = files::PackedFiles::of_command().names(path_);
    if (std::none_of(stored.begin(), stored.end(),
                     [](const std::string& name) { return name.ends_with(".memtrace"); }))
      throw trace::ReadError(path_, from_.file_bytes(),
                             "expected a trace in the packed file, but the file ends");
    return path_ + ": at byte " + std::to_string(from_.file_bytes()) + ": the packed file ends early; " +
           std::to_string(whole) + " of its " + std::to_string(list_.members.size()) + " files are whole";
  }

  std::string path_;
  ZstdReader from_;
  std::string piece_;
  std::uint64_t most_ = 0;
  std::uint64_t restored_ = 0; // bytes of files that were made from columns
  bool ended_ = false;         // the block of zeros at the end has come
  PackList list_;
  std::set<std::string> seen_; // whole members
};

} // namespace

std::optional<std::string> open(const std::string& path) {
  if (files::PackedFiles::of_command().has(path)) return "";
  if (!is_zstd(path)) return std::nullopt;
  return Unpacking(path).all();
}

} // namespace memtrace::archive
