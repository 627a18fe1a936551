// Purpose: the executable that a command starts: the program itself, or the interpreter of a script.
#pragma once

#include <string>

namespace memtrace::cli {

struct Executable {
  std::string path;   // "" if none is found
  int bits = 0;       // 64 or 32; 0 if it is not an ELF file or cannot be read
  std::string loader; // the dynamic loader that the file names; "" for a static program
};

// Finds `program` as execvp does.
Executable executable_of(const std::string& program);

// True if `loader` is the loader of musl, which cannot load the preload object.
bool is_musl(const std::string& loader);

} // namespace memtrace::cli
