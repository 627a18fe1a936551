// Purpose: it has a type whose name another type has.
// expect: Entry is the name of several types
namespace memtrace::trace {
struct Entry {
  int value;
};
} // namespace memtrace::trace
