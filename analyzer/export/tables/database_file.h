// Purpose: writes a new database of SQLite.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace memtrace::report {

// A database that gets its name when it is complete. Until then it has another name beside it. All functions
// throw std::runtime_error, with the file and SQLite's reason, if they fail.
class DatabaseFile {
 public:
  explicit DatabaseFile(const std::string& path);
  ~DatabaseFile(); // removes a file that is not complete
  DatabaseFile(const DatabaseFile&) = delete;
  DatabaseFile& operator=(const DatabaseFile&) = delete;

  void run(const char* statements);
  void finish();

 private:
  friend class RowInsert;
  [[noreturn]] void fail(const std::string& why) const;

  std::string path_;
  std::string partial_;
  sqlite3* database_ = nullptr;
};

// Adds rows to one table, with a value for each column in order.
class RowInsert {
 public:
  RowInsert(DatabaseFile& file, const std::string& table, int columns);
  ~RowInsert();
  RowInsert(const RowInsert&) = delete;
  RowInsert& operator=(const RowInsert&) = delete;

  template <class... Values>
  void row(const Values&... values) {
    column_ = 0;
    (bind(values), ...);
    step();
  }

 private:
  void bind(std::nullptr_t);
  void bind(std::int64_t value);
  void bind(std::uint64_t value) { bind(static_cast<std::int64_t>(value)); } // SQLite has no unsigned numbers
  void bind(std::uint32_t value) { bind(static_cast<std::int64_t>(value)); }
  void bind(int value) { bind(static_cast<std::int64_t>(value)); }
  void bind(bool value) { bind(static_cast<std::int64_t>(value)); }
  void bind(double value);          // NaN: NULL
  void bind(std::string_view text); // any bytes; see printable()
  void bind(const std::string& text) { bind(std::string_view(text)); }
  void bind(const char* text) { bind(std::string_view(text)); }
  template <class Value>
  void bind(const std::optional<Value>& value) {
    if (value)
      bind(*value);
    else
      bind(nullptr);
  }
  void step();
  void check(int status);

  DatabaseFile& file_;
  sqlite3_stmt* statement_ = nullptr;
  int column_ = 0;
  int columns_;
};

} // namespace memtrace::report
