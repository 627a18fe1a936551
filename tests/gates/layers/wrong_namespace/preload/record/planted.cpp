// Room: record.
// Job: a planted fault: another room's namespace.
namespace memtrace::hooks {}
