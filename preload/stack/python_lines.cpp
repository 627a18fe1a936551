// Purpose: decodes the line tables of code objects.
// Runs: inside the program's malloc.
#include "preload/stack/python_lines.h"

#include <cstddef>
#include <cstring>

namespace memtrace::record {
namespace {

// The varints of the location table of 3.11: 6 bits each, least significant first.
struct LocationBytes {
  const std::uint8_t* next;
  const std::uint8_t* end;

  bool more() const { return next < end; }
  std::uint8_t byte() { return more() ? *next++ : std::uint8_t{0}; }
  std::uint32_t varint() {
    std::uint8_t read = byte();
    std::uint32_t value = read & 63;
    for (int shift = 6; (read & 64) != 0 && shift < 32; shift += 6) {
      read = byte();
      value |= static_cast<std::uint32_t>(read & 63) << shift;
    }
    return value;
  }
  std::int32_t signed_varint() {
    std::uint32_t value = varint();
    auto half = static_cast<std::int32_t>(value >> 1);
    return (value & 1) != 0 ? -half : half;
  }
};

// Each decoder returns the line of the instruction at `lasti`; -1 if it has none.
int line_from_lnotab(LocationBytes table, int line, int lasti) { // Objects/lnotab_notes.txt of 3.9
  for (int address = 0; table.more();) {
    address += table.byte();
    if (address > lasti) break;
    line += static_cast<std::int8_t>(table.byte());
  }
  return line;
}

int line_from_ranges(LocationBytes table, int line, int lasti) { // the table of 3.10
  int found = -1;
  for (int end = 0; table.more() && end <= lasti;) {
    end += table.byte();
    auto change = static_cast<std::int8_t>(table.byte());
    found = change == -128 ? -1 : line += change;
  }
  return found;
}

// A place in a location table: the next entry is at `next`, for the instructions from `end` on.
struct LinePlace {
  const std::uint8_t* next;
  int end;
  int line;
};

// Moves `*place` to the entry of `lasti`.
int line_from_locations(const std::uint8_t* table_end, LinePlace* place, int lasti) { // locations.md of 3.11
  LocationBytes table{place->next, table_end};
  for (int end = place->end, line = place->line; table.more();) {
    *place = {table.next, end, line};
    std::uint8_t head = table.byte();
    int form = head >> 3 & 15;
    end += ((head & 7) + 1) * 2;
    int skip = 0;
    if (form == 14) { // line, last line, columns
      line += table.signed_varint();
      for (int i = 0; i < 3; ++i) table.varint();
    } else if (form == 13) {
      line += table.signed_varint();
    } else if (form >= 10 && form <= 12) {
      line += form - 10;
      skip = 2;
    } else if (form < 10) {
      skip = 1;
    }
    while (skip-- > 0) table.byte();
    if (lasti < end) return form == 15 ? -1 : line;
  }
  return -1;
}

// The body of a module allocates at each of its lines in turn, and its table is long. So the search continues
// where the last one for the same code ended: in `import torch`, 12 % of memtrace's instructions read such
// tables. The caller of python_names() holds a lock.
struct LineSearch {
  PythonFrame frame; // its lasti is not compared
  LinePlace place;
};
constexpr std::size_t kSearches = 64;
constinit LineSearch searches[kSearches] = {};

bool same_code(const PythonFrame& a, const PythonFrame& b) {
  return a.code == b.code && a.line_table == b.line_table && a.name_hash == b.name_hash && a.file == b.file &&
         a.first_line == b.first_line;
}

int line_by_search(const PythonFrame& frame, LocationBytes table, int lasti) {
  LineSearch& last = searches[(reinterpret_cast<std::uintptr_t>(frame.code) >> 6) % kSearches];
  if (!same_code(last.frame, frame) || lasti < last.place.end)
    last = {frame, {table.next, 0, static_cast<int>(frame.first_line)}};
  return line_from_locations(table.end, &last.place, lasti);
}

} // namespace

std::uint32_t line_of(const Layout& k, const PythonFrame& frame) {
  auto first = static_cast<int>(frame.first_line);
  auto lasti = static_cast<std::int32_t>(frame.lasti);
  if (lasti < 0 || frame.line_table == nullptr) return frame.first_line;
  auto* data = static_cast<const std::uint8_t*>(frame.line_table) + kBytesData;
  std::int64_t bytes = 0;
  std::memcpy(&bytes, static_cast<const char*>(frame.line_table) + kSizeField, sizeof bytes);
  LocationBytes table{data, data + bytes};
  int line = k.lines == LineTable::lnotab   ? line_from_lnotab(table, first, lasti)
             : k.lines == LineTable::ranges ? line_from_ranges(table, first, lasti)
                                            : line_by_search(frame, table, lasti);
  return line < 0 ? frame.first_line : static_cast<std::uint32_t>(line);
}

} // namespace memtrace::record
