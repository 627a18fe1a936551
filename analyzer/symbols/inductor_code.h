// Purpose: what a line of torch.compile's generated code computes, from the code itself.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace memtrace::symbols {

// Inductor writes one Python file for each compiled graph. A line there allocates a buffer, such as
// `buf3 = empty_strided_cpu(...)`. The call that fills it names the operators.
class InductorCode {
 public:
  // True if a file has a name that Inductor gives: a letter and a hash, in a folder with two letters of the
  // hash.
  static bool is_generated(std::string_view file);

  // Returns the operators that fill the buffer of a line: "linear_1" or "mul_sigmoid". Returns "" if the file
  // is not there, not Inductor's, or has no such line. The names have letters, digits, '_' and '.' only.
  std::string filled_by(std::string_view file, std::uint32_t line);

 private:
  const std::vector<std::string>& lines_of(std::string_view file);
  std::map<std::string, std::vector<std::string>, std::less<>> files_;
};

} // namespace memtrace::symbols
