// Purpose: formats sizes and times for people.
#pragma once

#include <cstdint>
#include <string>

namespace memtrace::report {

// The unit of a table: GiB if the largest figure is at least 4 GiB, else MiB.
struct Unit {
  const char* name = "MiB";
  double bytes = 1 << 20;
};
Unit unit_for(std::int64_t largest);

std::string in_unit(std::int64_t bytes, const Unit& unit);        // "1155.27"
std::string signed_in_unit(std::int64_t bytes, const Unit& unit); // "+462.11", "0.00"
std::string size(std::int64_t bytes);                             // "231.05 MiB", "12.89 GiB"
std::string fine_size(std::int64_t bytes);                        // "72 bytes", where size() has "0.00 MiB"
std::string sized(std::uint64_t bytes);                           // size() of an unsigned number
// "13.84 GB" (10^9 bytes); below 1 GB "242.28 MB"
std::string gigabytes(std::uint64_t bytes);
std::string duration(double seconds);    // "41 ms", "3.2 s", "4 min 10 s", "5 h 2 min", "17 d 15 h"
std::string count(std::uint64_t number); // "6,921,720,704"

} // namespace memtrace::report
