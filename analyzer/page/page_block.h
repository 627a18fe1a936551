// Purpose: writes the data of a page: sections of columns, with a directory. web/README.md describes the
// format.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/print/json/json_text.h"

namespace memtrace::report {

class PageBlock {
 public:
  // Each element is stored as the bytes of its planes: all lowest bytes first. `delta`: as differences to the
  // element before, which compress better where values rise.
  void add(const std::string& name, const std::vector<std::uint8_t>& values);
  void add(const std::string& name, const std::vector<std::uint32_t>& values);
  void add(const std::string& name, const std::vector<std::int64_t>& values, bool delta = false);
  void add_text(const std::string& name, std::string_view text);

  // Returns the directory and the sections.
  std::string take() &&;

 private:
  template <typename Value>
  void add_planes(const std::string& name, const char* type, const std::vector<Value>& values, bool delta);
  void enter(const std::string& name, const char* type, std::size_t count, std::size_t bytes, bool delta);

  Json sections_ = Json::object();
  std::string bytes_;
};

// Returns the bytes that the block takes in an HTML file.
std::uint64_t bytes_in_file(const PageBlock& block);

std::string base64(std::string_view bytes);

} // namespace memtrace::report
