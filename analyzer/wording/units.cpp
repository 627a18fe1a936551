// Purpose: formats sizes and times for people.
#include "analyzer/wording/units.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace memtrace::report {
namespace {

constexpr double kGiB = 1 << 30;
constexpr double kMiB = 1 << 20;

// Returns "0.00" instead of "-0.00".
std::string two_digits(double value) {
  return fmt::format("{:.2f}", std::abs(value) < 0.005 ? 0.0 : value);
}

} // namespace

Unit unit_for(std::int64_t largest) {
  // MiB up to 4 GiB: two digits of a GiB would hide 10 MiB.
  if (std::abs(static_cast<double>(largest)) >= 4 * kGiB) return {"GiB", kGiB};
  return {"MiB", kMiB};
}

std::string in_unit(std::int64_t bytes, const Unit& unit) {
  return two_digits(static_cast<double>(bytes) / unit.bytes);
}

std::string signed_in_unit(std::int64_t bytes, const Unit& unit) {
  const std::string text = in_unit(bytes, unit);
  return fmt::format("{}{}", text == "0.00" || text.front() == '-' ? "" : "+", text);
}

std::string size(std::int64_t bytes) {
  const Unit unit = unit_for(bytes);
  return in_unit(bytes, unit) + " " + unit.name;
}

std::string fine_size(std::int64_t bytes) {
  const std::string text = size(bytes);
  return text.starts_with("0.00 ") && bytes != 0 ? fmt::format("{} bytes", bytes) : text;
}

std::string sized(std::uint64_t bytes) {
  return size(static_cast<std::int64_t>(bytes));
}

std::string gigabytes(std::uint64_t bytes) {
  const auto value = static_cast<double>(bytes);
  return value >= 1e9 ? fmt::format("{:.2f} GB", value / 1e9) : fmt::format("{:.2f} MB", value / 1e6);
}

std::string duration(double seconds) {
  if (seconds < 0.001) return fmt::format("{:.0f} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.0f} ms", seconds * 1e3);
  if (seconds < 120) return fmt::format("{:.1f} s", seconds);
  constexpr double kMost = 1e15; // a damaged trace may say anything
  const auto whole = static_cast<std::uint64_t>(std::llround(std::min(seconds, kMost)));
  const std::uint64_t minutes = whole / 60, hours = minutes / 60;
  if (minutes < 120) return fmt::format("{} min {} s", minutes, whole % 60);
  if (hours < 48) return fmt::format("{} h {} min", hours, minutes % 60);
  return fmt::format("{} d {} h", hours / 24, hours % 24);
}

std::string count(std::uint64_t number) {
  const std::string digits = std::to_string(number);
  std::string out;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i != 0 && (digits.size() - i) % 3 == 0) out += ',';
    out += digits[i];
  }
  return out;
}

} // namespace memtrace::report
