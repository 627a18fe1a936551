// Purpose: the local directories that stand for a job's directory on a shared file system.
#pragma once

#include <string>
#include <vector>

namespace memtrace::report {

// True if MEMTRACE_SHARED, else the type of the file system, asks for a local directory first. The recorder
// uses none if no local disk is writable. The directory need not exist.
bool is_shared_place(const std::string& directory);

// Returns the directories in which local disks can be: those of `spool` and `temporary` (MEMTRACE_SPOOL and
// TMPDIR of the traced process; "": not set), and /tmp.
std::vector<std::string> local_bases(const std::string& spool, const std::string& temporary);

// Returns the directories that stand for `directory` on local disks of this host, as far as they exist. Other
// users cannot write in them. The bases are those of this command's environment, unless given.
std::vector<std::string> local_directories(const std::string& directory);
std::vector<std::string> local_directories(const std::string& directory, const std::vector<std::string>& bases);

// Returns the job's directory for which a local one of this user stands, or "".
std::string shared_directory_of(const std::string& local);

// Returns the traces of the directory: those in it, the copies in DIRECTORY/HOST, and those on local disks of
// this host, which stand for their copies.
std::vector<std::string> traces_of(const std::string& directory);

} // namespace memtrace::report
