// Purpose: it opens a file by itself.
// expect: files are opened in
namespace memtrace::cli {
void open_it() {
  std::ifstream file("/proc/stat");
}
} // namespace memtrace::cli
