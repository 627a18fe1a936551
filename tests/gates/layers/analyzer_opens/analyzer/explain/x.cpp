// Purpose: it opens a file by itself.
// expect: files are opened in
namespace memtrace::report {
int open_it() {
  return ::open("/proc/stat", 0);
}
} // namespace memtrace::report
