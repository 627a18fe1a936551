// Purpose: a planted fault: another room's namespace.
namespace memtrace::hooks {}
