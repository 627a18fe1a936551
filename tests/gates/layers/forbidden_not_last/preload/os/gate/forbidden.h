// Purpose: stands for the real one.
namespace memtrace::record {}
