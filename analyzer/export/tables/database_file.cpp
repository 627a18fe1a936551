// Purpose: writes a new database of SQLite.
#include "analyzer/export/tables/database_file.h"

#include <fmt/core.h>
#include <sqlite3.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <stdexcept>

#include "analyzer/wording/utf8.h"

namespace memtrace::report {

DatabaseFile::DatabaseFile(const std::string& path)
    : path_(path), partial_(fmt::format("{}.{}", path, ::getpid())) {
  ::unlink(partial_.c_str());
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_EXCLUSIVE | SQLITE_OPEN_NOMUTEX;
  if (sqlite3_open_v2(partial_.c_str(), &database_, flags, nullptr) != SQLITE_OK) {
    const std::string why = sqlite3_errmsg(database_);
    sqlite3_close(database_);
    database_ = nullptr;
    fail(why);
  }
  run("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA temp_store = MEMORY; BEGIN;");
}

DatabaseFile::~DatabaseFile() {
  if (database_ == nullptr) return;
  sqlite3_close_v2(database_);
  ::unlink(partial_.c_str());
}

void DatabaseFile::fail(const std::string& why) const {
  throw std::runtime_error(fmt::format("{}: cannot be written ({}); name another file with -o", path_, why));
}

void DatabaseFile::run(const char* statements) {
  if (sqlite3_exec(database_, statements, nullptr, nullptr, nullptr) != SQLITE_OK)
    fail(sqlite3_errmsg(database_));
}

void DatabaseFile::finish() {
  run("COMMIT");
  const int status = sqlite3_close(database_);
  database_ = nullptr;
  if (status == SQLITE_OK && std::rename(partial_.c_str(), path_.c_str()) == 0) return;
  const std::string why = status == SQLITE_OK ? std::strerror(errno) : sqlite3_errstr(status);
  ::unlink(partial_.c_str());
  fail(why);
}

RowInsert::RowInsert(DatabaseFile& file, const std::string& table, int columns)
    : file_(file), columns_(columns) {
  std::string places;
  for (int i = 0; i < columns; ++i) places += i == 0 ? "?" : ", ?";
  const std::string text = fmt::format("INSERT INTO {} VALUES ({})", table, places);
  check(sqlite3_prepare_v2(file.database_, text.c_str(), -1, &statement_, nullptr));
}

RowInsert::~RowInsert() {
  sqlite3_finalize(statement_);
}

void RowInsert::check(int status) {
  if (status != SQLITE_OK && status != SQLITE_DONE) file_.fail(sqlite3_errmsg(file_.database_));
}

void RowInsert::bind(std::nullptr_t) {
  check(sqlite3_bind_null(statement_, ++column_));
}

void RowInsert::bind(std::int64_t value) {
  check(sqlite3_bind_int64(statement_, ++column_, value));
}

void RowInsert::bind(double value) {
  check(sqlite3_bind_double(statement_, ++column_, value));
}

void RowInsert::bind(std::string_view text) {
  const std::string clean = printable(text);
  check(sqlite3_bind_text64(statement_, ++column_, clean.data(), clean.size(), SQLITE_TRANSIENT, SQLITE_UTF8));
}

void RowInsert::step() {
  if (column_ != columns_) throw std::logic_error("a row of another number of columns");
  check(sqlite3_step(statement_));
  check(sqlite3_reset(statement_));
}

} // namespace memtrace::report
