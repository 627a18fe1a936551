// Purpose: writes a pickle of plain values: dicts, lists, texts and numbers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "analyzer/files/writing.h"

namespace memtrace::report {

// Protocol 2. Equal texts are written once. A list or dict is filled in parts, so that it need not be in
// memory.
class PickleWriter {
 public:
  explicit PickleWriter(const files::TakePart& take);
  void finish();

  // Between begin and end of a dict: a text as key, then its value, in turn.
  void begin_dict();
  void end_dict();
  void begin_list();
  void end_list();

  void text(std::string_view value); // UTF-8
  void number(std::uint64_t value);
  void boolean(bool value);
  void pair(std::uint64_t first, std::uint64_t second); // a tuple

  void entry(const char* key, std::string_view value) { text(key), text(value); }
  void entry(const char* key, std::uint64_t value) { text(key), number(value); }

  // Gives the value just written a number, with which again() writes it again.
  std::uint32_t remember();
  void again(std::uint32_t number);

 private:
  void put(char code) { bytes_ += code; }
  void put_number(std::uint64_t value, int bytes);
  void flush();

  const files::TakePart& take_;
  std::string bytes_;
  std::uint32_t remembered_ = 0;
  std::unordered_map<std::string, std::uint32_t> texts_;
};

} // namespace memtrace::report
