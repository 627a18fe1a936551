// Purpose: the tables and views of an exported database.
#include "analyzer/export/tables/table_layout.h"

namespace memtrace::report {

const char* const kTableLayout = R"(
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE processes (process INTEGER PRIMARY KEY, pid INTEGER, ppid INTEGER, host TEXT, exe TEXT, argv TEXT, kind TEXT,
  rank INTEGER, start_unix REAL, duration REAL, end_how TEXT, end_code INTEGER, parameters INTEGER);
CREATE TABLE frames (frame INTEGER PRIMARY KEY, process INTEGER, function TEXT, file TEXT, line INTEGER, module TEXT,
  lang TEXT);
CREATE TABLE stacks (stack INTEGER PRIMARY KEY, process INTEGER, own_line TEXT, allocated_by TEXT);
CREATE TABLE stack_frames (stack INTEGER, depth INTEGER, frame INTEGER, PRIMARY KEY (stack, depth)) WITHOUT ROWID;
CREATE TABLE peaks (peak INTEGER PRIMARY KEY, process INTEGER, memory TEXT, measure TEXT, bytes INTEGER,
  reserved_untouched INTEGER, t REAL, phase TEXT, step INTEGER, leads INTEGER);
CREATE TABLE holdings (peak INTEGER, stack INTEGER, bytes INTEGER, untouched INTEGER, asked INTEGER, blocks INTEGER,
  kind TEXT, role TEXT, born_phase TEXT, born_step INTEGER, lifetime REAL, how TEXT, error INTEGER);
CREATE TABLE phases (process INTEGER, memory TEXT, path TEXT, phase TEXT, step INTEGER, count INTEGER, entry_live INTEGER,
  exit_live INTEGER, peak_live INTEGER, transient INTEGER, net INTEGER, tensor_entry INTEGER, tensor_exit INTEGER,
  tensor_peak INTEGER, tensor_transient INTEGER, tensor_net INTEGER, allocated INTEGER, freed INTEGER,
  allocations INTEGER);
CREATE TABLE ledgers (ledger INTEGER PRIMARY KEY, process INTEGER, scope TEXT, memory TEXT, at TEXT, t REAL, total INTEGER,
  high_water INTEGER, residual INTEGER);
CREATE TABLE ledger_rows (ledger INTEGER, name TEXT, bytes INTEGER, how TEXT);
CREATE TABLE findings (process INTEGER, id TEXT, title TEXT, memory TEXT, phase TEXT, step INTEGER, bytes INTEGER,
  bytes_at_peak INTEGER, bytes_at_end INTEGER, confidence TEXT, evidence TEXT, remedy TEXT, stack INTEGER);
CREATE TABLE levels (process INTEGER, memory TEXT, measure TEXT, t REAL, bytes INTEGER);
)";

const char* const kViewLayout = R"(
CREATE INDEX holdings_by_peak ON holdings (peak);
CREATE INDEX levels_by_time ON levels (process, memory, measure, t);
CREATE VIEW leading_peaks AS
  SELECT *, bytes - reserved_untouched AS shown_bytes FROM peaks WHERE leads;
CREATE VIEW peak_by_line AS
  SELECT p.process, p.memory, p.measure, s.own_line, s.allocated_by, h.role, SUM(h.bytes - h.untouched) AS bytes,
    SUM(h.blocks) AS blocks
  FROM leading_peaks p JOIN holdings h USING (peak) LEFT JOIN stacks s USING (stack)
  GROUP BY p.process, p.memory, p.measure, s.own_line, s.allocated_by, h.role ORDER BY p.process, bytes DESC;
CREATE VIEW peak_by_role AS
  SELECT p.process, p.memory, p.measure, h.role, SUM(h.bytes - h.untouched) AS bytes, SUM(h.blocks) AS blocks
  FROM leading_peaks p JOIN holdings h USING (peak)
  GROUP BY p.process, p.memory, p.measure, h.role ORDER BY p.process, bytes DESC;
CREATE VIEW peak_by_phase AS
  SELECT p.process, p.memory, p.measure, h.born_phase, SUM(h.bytes - h.untouched) AS bytes, SUM(h.blocks) AS blocks
  FROM leading_peaks p JOIN holdings h USING (peak)
  GROUP BY p.process, p.memory, p.measure, h.born_phase ORDER BY p.process, bytes DESC;
CREATE VIEW step_peaks AS
  SELECT process, memory, step, MAX(peak_live) AS peak_live, MAX(tensor_peak) AS tensor_peak, SUM(allocated) AS allocated,
    SUM(freed) AS freed FROM phases WHERE step IS NOT NULL GROUP BY process, memory, step;
)";

} // namespace memtrace::report
