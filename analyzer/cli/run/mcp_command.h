// Purpose: `memtrace mcp`: starts the server that reads traces for editors and assistants.
#pragma once

#include <string>
#include <vector>

namespace memtrace::cli {

struct McpArguments {
  std::string python = "python3";       // runs the server; has the package mcp
  std::vector<std::string> directories; // empty: memtrace-out
};

// Becomes the server, in a Python that has the package mcp. Throws UsageError if there is no such Python.
int mcp_command(const McpArguments& arguments);

} // namespace memtrace::cli
