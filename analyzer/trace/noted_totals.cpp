// Purpose: the totals of a process that ended in an orderly way. It has no ring file, so it left them in notes.
#include "analyzer/trace/noted_totals.h"

#include <algorithm>
#include <charconv>

namespace memtrace::trace {
namespace {

// Reads the numbers of the note with this key into `fields`. A field without a number keeps its value.
void read_numbers(const Facts& facts, const char* key, std::initializer_list<std::uint64_t*> fields) {
  const std::string note = facts.note(key).value_or("");
  const char* at = note.data();
  const char* const end = at + note.size();
  for (std::uint64_t* const field : fields) {
    at = std::find_if(at, end, [](char c) { return c >= '0' && c <= '9'; });
    at = std::from_chars(at, end, *field).ptr;
  }
}

} // namespace

format::LostBlocks noted_lost_blocks(const Facts& facts) {
  format::LostBlocks lost{};
  read_numbers(facts, "lost.births",
               {&lost.births, &lost.birth_bytes, &lost.uncounted_birth_bytes, &lost.tensor_birth_bytes});
  read_numbers(facts, "lost.deaths",
               {&lost.deaths, &lost.death_bytes, &lost.uncounted_death_bytes, &lost.tensor_death_bytes});
  return lost;
}

format::Pauses noted_pauses(const Facts& facts) {
  format::Pauses pauses{};
  auto& in = pauses.count;
  static_assert(std::extent_v<decltype(format::Pauses::count)> == 9);
  read_numbers(facts, "pauses",
               {&pauses.sum_ns, &pauses.longest_ns, &in[0], &in[1], &in[2], &in[3], &in[4], &in[5], &in[6],
                &in[7], &in[8]});
  return pauses;
}

} // namespace memtrace::trace
