// Purpose: finds the file that a command starts.
#pragma once

#include <string>
#include <vector>

namespace memtrace::cli {

// Returns the first file in PATH that can be executed, or "". A name with a slash is returned as it is.
std::string found_in_path(const std::string& program);

// Returns the program that the first line of a script names, or "" if `path` is not a script. For
// "#!/usr/bin/env -S python3 -u" that is "python3".
std::string interpreter_of(const std::string& path);

// True if the program starts with rights that this process lacks (setuid, setgid or capabilities). The dynamic
// loader then ignores LD_PRELOAD.
bool gains_rights(const std::string& path);

// True for the names of launchers that remove LD_PRELOAD also if they gain no rights, as for root.
bool clears_environment(const std::string& name);

// Returns the names of launchers whose program starts in a container, on another host, in a service or below
// another root. To try one takes an image, a host or a service.
const std::vector<std::string>& launchers_to_elsewhere();

} // namespace memtrace::cli
