// Purpose: reads the times that logs and orchestrators write.
#include "analyzer/evidence/sources/log_time.h"

#include <cmath>
#include <cstdlib>
#include <ctime>
#include <string>

#include "analyzer/evidence/text_scan.h"

namespace memtrace::evidence {
namespace {

constexpr std::string_view kMonths = "JanFebMarAprMayJunJulAugSepOctNovDec";

// True if `text` begins with the pattern, in which each d is a digit.
bool looks_like(std::string_view text, std::string_view pattern) {
  if (text.size() < pattern.size()) return false;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    if (pattern[i] == 'd' ? !digit : pattern[i] != text[i]) return false;
  }
  return true;
}

int value(std::string_view digits) {
  return static_cast<int>(number(digits).value_or(0));
}

double unix_of(int year, int month, int day, std::string_view hms) {
  std::tm time{};
  time.tm_year = year - 1900;
  time.tm_mon = month - 1;
  time.tm_mday = day;
  time.tm_hour = value(hms.substr(0, 2));
  time.tm_min = value(hms.substr(3, 2));
  time.tm_sec = value(hms.substr(6, 2));
  return static_cast<double>(::timegm(&time));
}

// Returns the month of "Nov 21 16:21:24", or 0 if the text is not such a time.
int month_of(std::string_view text) {
  if (text.size() < 15 || text[3] != ' ' || !looks_like(text.substr(7), "dd:dd:dd")) return 0;
  const std::size_t at = kMonths.find(text.substr(0, 3));
  return at == std::string_view::npos || at % 3 != 0 ? 0 : static_cast<int>(at / 3) + 1;
}

int day_of(std::string_view text) {
  return value(trimmed(text.substr(4, 2)));
}

When local(double unix) {
  When when;
  when.unix = unix;
  when.zoned = false;
  return when;
}

// Reads "[Sat Nov 21 16:21:24 2026]" without its first bracket.
std::optional<When> dated(std::string_view text) {
  if (text.size() < 24 || month_of(text.substr(4)) == 0 || !looks_like(text.substr(20), "dddd")) return {};
  const std::string_view rest = text.substr(4);
  return local(unix_of(value(text.substr(20, 4)), month_of(rest), day_of(rest), rest.substr(7)));
}

std::optional<When> without_year(std::string_view text, double near_unix) {
  const int month = month_of(text);
  if (month == 0) return std::nullopt;
  const std::time_t near = static_cast<std::time_t>(near_unix);
  std::tm now{};
  ::gmtime_r(&near, &now);
  double best = 0;
  for (int year = now.tm_year + 1899; year <= now.tm_year + 1901; ++year) {
    const double unix = unix_of(year, month, day_of(text), text.substr(7));
    if (std::abs(unix - near_unix) < std::abs(best - near_unix)) best = unix;
  }
  return local(best);
}

// Reads "W0813 22:08:39.776000", as glog and PyTorch write it: a letter, month and day, a time.
std::optional<When> of_glog(std::string_view text, double near_unix) {
  if (text.empty() || std::string_view("IWEFVDC").find(text.front()) == std::string_view::npos) return {};
  if (!looks_like(text.substr(1), "dddd dd:dd:dd")) return std::nullopt;
  const auto month = static_cast<std::size_t>(value(text.substr(1, 2)));
  if (month < 1 || month > 12) return std::nullopt;
  const std::string date = std::string(kMonths.substr(3 * (month - 1), 3)) + " " + std::string(text.substr(3));
  return without_year(date, near_unix);
}

// Returns the seconds east of Greenwich of "Z", "+0100" or "+01:00". Adds the characters read to `used`.
std::optional<int> zone(std::string_view text, std::size_t* used) {
  if (!text.empty() && text.front() == 'Z') {
    *used += 1;
    return 0;
  }
  if (text.empty() || (text.front() != '+' && text.front() != '-')) return std::nullopt;
  const int sign = text.front() == '-' ? -1 : 1;
  const std::string_view rest = text.substr(1);
  const bool colon = looks_like(rest, "dd:dd");
  if (!colon && !looks_like(rest, "dddd")) return std::nullopt;
  *used += colon ? 6 : 5;
  return sign * (value(rest.substr(0, 2)) * 3600 + value(rest.substr(colon ? 3 : 2, 2)) * 60);
}

} // namespace

std::optional<When> iso_time(std::string_view text, std::size_t* used) {
  if (!looks_like(text, "dddd-dd-ddTdd:dd:dd") && !looks_like(text, "dddd-dd-dd dd:dd:dd")) return std::nullopt;
  double unix =
      unix_of(value(text.substr(0, 4)), value(text.substr(5, 2)), value(text.substr(8, 2)), text.substr(11));
  std::size_t at = 19;
  if (at + 1 < text.size() && (text[at] == '.' || text[at] == ',') && text[at + 1] >= '0' &&
      text[at + 1] <= '9') {
    double part = 0.1;
    for (++at; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at, part /= 10)
      unix += part * (text[at] - '0');
  }
  const std::optional<int> east = zone(text.substr(at), &at);
  if (used != nullptr) *used = at;
  When when = local(unix - east.value_or(0));
  when.zoned = east.has_value();
  return when;
}

When line_time(std::string_view line, double near_unix) {
  if (line.starts_with('<')) line.remove_prefix(std::min(line.size(), line.find('>') + 1)); // dmesg --raw
  if (line.starts_with('[')) {
    const std::string_view inside = trimmed(line.substr(1, line.find(']') - 1));
    if (const auto when = dated(inside)) return *when;
    if (const auto when = iso_time(inside)) return *when;
    if (const auto seconds = number(inside)) {
      When when;
      when.boot = std::strtod(std::string(inside).c_str(), nullptr);
      return when;
    }
    line.remove_prefix(1);
  }
  if (const auto when = iso_time(line)) return *when;
  if (const auto when = of_glog(line, near_unix)) return *when;
  return without_year(line, near_unix).value_or(When{});
}

} // namespace memtrace::evidence
