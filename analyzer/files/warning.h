// Purpose: a warning for the user: the command goes on, but a part of the input was not used.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace memtrace::files {

// Hands one line of text to the writer of warnings. Without a writer, spdlog's default prints it.
void warn(const std::string& line);

// Keeps the warnings of the calling thread while it exists. The lines of several threads would have no order.
class KeptWarnings {
 public:
  explicit KeptWarnings(std::vector<std::string>& lines);
  ~KeptWarnings();
  KeptWarnings(const KeptWarnings&) = delete;
  KeptWarnings& operator=(const KeptWarnings&) = delete;

 private:
  std::vector<std::string>* before_;
};

// Sets the writer of all later warnings. main() sets it once, before a command runs. Not thread-safe.
void set_warning_writer(std::function<void(const std::string&)> writer);

} // namespace memtrace::files
