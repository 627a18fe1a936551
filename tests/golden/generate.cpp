// Purpose: writes the golden traces of this version and their reports anew.
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "layout.h"
#include "long_run.h"
#include "program.h"
#include "report.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: memtrace_golden DIRECTORY\n");
    return 2;
  }
  const std::string directory = std::string(argv[1]) + "/v" + std::to_string(memtrace::format::kVersion);
  std::filesystem::create_directories(directory);
  std::ofstream(directory + "/layout.txt") << memtrace::tests::layout();
  memtrace::tests::Writer writer;
  memtrace::tests::write_program(writer);
  std::ofstream(directory + "/train.memtrace", std::ios::binary) << writer.bytes();
  std::ofstream(directory + "/train.json")
      << memtrace::tests::pruned_report(directory + "/train.memtrace").dump(1) << "\n";
  for (const auto& [suffix, bytes] : memtrace::tests::long_run())
    std::ofstream(directory + "/long" + suffix, std::ios::binary) << bytes;
  std::ofstream(directory + "/long.json")
      << memtrace::tests::pruned_report(directory + "/long.memtrace").dump(1) << "\n";
  return 0;
}
