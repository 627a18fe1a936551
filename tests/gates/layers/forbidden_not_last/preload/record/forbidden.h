// Room: record.
// Job: stands for the real one.
namespace memtrace::record {}
