// Purpose: a warning for the user: the command goes on, but a part of the input was not used.
#pragma once

#include <functional>
#include <string>

namespace memtrace::files {

// Hands one line of text to the writer of warnings. Without a writer, spdlog's default prints it.
void warn(const std::string& line);

// Sets the writer of all later warnings. main() sets it once, before a command runs. Not thread-safe.
void set_warning_writer(std::function<void(const std::string&)> writer);

} // namespace memtrace::files
