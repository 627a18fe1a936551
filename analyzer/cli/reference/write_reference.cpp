// Purpose: a program of the build that writes the man pages and the completion of memtrace.
#include <cstdio>
#include <exception>
#include <filesystem>

#include "analyzer/cli/common/output.h"
#include "analyzer/cli/reference/command_texts.h"
#include "analyzer/cli/reference/completions.h"
#include "analyzer/cli/reference/man_pages.h"

namespace {

namespace fs = std::filesystem;

void write(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  memtrace::cli::write_all({text}, path.string());
}

// Writes the tree that is installed as PREFIX/share.
void write_reference(const fs::path& share) {
  const memtrace::cli::ProgramText texts = memtrace::cli::command_texts();
  const std::string& name = texts.program.name;
  const fs::path pages = share / "man" / "man1";
  write(pages / (name + ".1"), program_page(texts));
  for (const memtrace::cli::CommandText& command : texts.commands)
    write(pages / (name + "-" + command.name + ".1"), command_page(texts, command));
  write(share / "bash-completion" / "completions" / name, bash_completion(texts));
  write(share / "zsh" / "site-functions" / ("_" + name), zsh_completion(texts));
  write(share / "fish" / "vendor_completions.d" / (name + ".fish"), fish_completion(texts));
}

} // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: memtrace_write_reference DIRECTORY\n", stderr);
    return 2;
  }
  try {
    write_reference(argv[1]);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "memtrace_write_reference: %s\n", error.what());
    return 1;
  }
}
