// Purpose: a planted fault of the clang-tidy gate: a value that is used after it was moved away.
#include <string>
#include <utility>

std::string planted(std::string first) {
  std::string second = std::move(first);
  return second + first;
}
