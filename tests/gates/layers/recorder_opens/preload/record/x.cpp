// Purpose: it opens a file by itself.
// expect: files are opened in
// A planted fault.
namespace memtrace::record {
long open_it(long (*call)(long number)) {
  return call(SYS_openat);
}
} // namespace memtrace::record
