// Purpose: the tables and views of an exported database.
#pragma once

namespace memtrace::report {

// Statements that make the tables. docs/export.md describes them.
extern const char* const kTableLayout;
// Statements that make the indexes and the views, after the rows.
extern const char* const kViewLayout;

} // namespace memtrace::report
