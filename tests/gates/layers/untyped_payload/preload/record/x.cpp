// Purpose: it counts the words of a payload.
// expect: the words of a payload
// Runs: nowhere.
namespace memtrace::record {
unsigned long address_of(const unsigned long* word) {
  return word[0];
}
} // namespace memtrace::record
