// Purpose: writes typed rows as lines of JSON: a header with names and types, then partitions and their rows.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "analyzer/export/tables/fleet_layout.h"

namespace memtrace::report {

// docs/decisions/0085 has the format. The reader may trust a stream only if it has the last line.
class RowStream {
 public:
  using Write = std::function<void(std::string_view)>;

  explicit RowStream(Write write);                                                  // writes the header
  void partition(const std::string& job, const std::optional<std::uint32_t>& rank); // of the rows that follow
  void finish();                                                                    // writes the last line

  // Adds a row with a value for each column, in order.
  template <class... Values>
  void row(FleetTableId table, const Values&... values) {
    begin(table);
    (value(values), ...);
    end(sizeof...(values));
  }

 private:
  void begin(FleetTableId table);
  void end(std::size_t values);
  void value(std::nullptr_t);
  void value(std::int64_t number);
  void value(std::uint64_t number) {
    value(static_cast<std::int64_t>(number));
  } // Parquet's readers lack unsigned
  void value(std::uint32_t number) { value(static_cast<std::int64_t>(number)); }
  void value(int number) { value(static_cast<std::int64_t>(number)); }
  void value(bool flag);
  void value(double number);         // NaN and infinity: null
  void value(std::string_view text); // any bytes; see printable()
  void value(const std::string& text) { value(std::string_view(text)); }
  void value(const char* text) { value(std::string_view(text)); }
  template <class Value>
  void value(const std::optional<Value>& one) {
    if (one)
      value(*one);
    else
      value(nullptr);
  }

  Write write_;
  std::string line_;
  FleetTableId table_{};
  std::uint64_t rows_ = 0;
};

} // namespace memtrace::report
