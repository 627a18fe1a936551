// Purpose: fuzz target: how processes ended, as it was seen from outside.
#include "analyzer/evidence/watched_ends.h"

#include <filesystem>

#include "bytes.h"
#include "place.h"

using namespace memtrace;
using namespace memtrace::tests;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string directory = in_place("ends");
  static const bool made = std::filesystem::create_directory(directory);
  const std::string path = directory + "/t" + evidence::kEndsSuffix;
  put_file(path, {reinterpret_cast<const char*>(data), size});
  const auto ends = evidence::read_ends(directory);
  std::string lines;
  for (const evidence::End& end : ends) {
    lines += evidence::line_of(end);
    evidence::end_of(ends, end.trace);
  }
  put_file(path, lines);
  const auto back = evidence::read_ends(directory);
  expect(made && back.size() == ends.size(), "an end that was written cannot be read");
  for (std::size_t i = 0; i < ends.size(); ++i)
    expect(evidence::line_of(back[i]) == evidence::line_of(ends[i]), "an end changes when it is written");
  return 0;
}
