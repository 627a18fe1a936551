// Purpose: files to write: beside traces, and those that the user names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace memtrace::files {

// Each returns false, with errno set, if not all could be written.

// `path` as a whole, by a new file that is renamed: a reader sees all of it or what was there before. What has
// the name is replaced, never written to: another user may have put a link there.
bool replace(const std::string& path, std::string_view text);

// Adds to a regular file that has no other name, or makes it. No link is followed.
bool append(const std::string& path, std::string_view text);

// What the user named: links are followed, and what was in it is gone.
bool write_named(const std::string& path, const std::vector<std::string>& pieces);

// A setting of this process in /proc.
bool write_system(const std::string& path, std::string_view text);

} // namespace memtrace::files
