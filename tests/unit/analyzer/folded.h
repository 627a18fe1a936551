// Purpose: from what a builder holds to what the fold makes of it.
#pragma once

#include <gtest/gtest.h>

#include "analyzer/attribute/peak_composition.h"
#include "analyzer/attribute/phase_accounting.h"
#include "analyzer/attribute/steady_steps.h"
#include "builder.h"

namespace memtrace::tests {

// A trace on disk, read and folded. Keeps what results point into.
class Folded {
 public:
  explicit Folded(Builder& builder, std::size_t per_segment = 64) {
    write_file(scratch_.file("t.memtrace"), builder.bytes(per_segment));
    trace_ = std::make_unique<trace::Trace>(scratch_.file("t.memtrace"));
    account = replay::account_phases(*trace_);
    for (const replay::Row& row : account.rows) rows_.push_back(row);
  }

  const trace::Trace& trace() const { return *trace_; }
  std::string path() const { return scratch_.file("t.memtrace"); }

  // The row of a path such as "step" or "epoch/forward", in a step; -1: none. Fails when there is no such row.
  const replay::Row& row(const std::string& path, std::int64_t step) const {
    static const replay::Row nothing;
    for (const replay::Row& row : rows_) {
      if (name(row.path) == path && static_cast<std::int64_t>(row.step) == step) return row;
    }
    ADD_FAILURE() << "no row " << path << " of step " << step;
    return nothing;
  }
  bool has(const std::string& path, std::int64_t step) const {
    for (const replay::Row& row : account.rows) {
      if (name(row.path) == path && static_cast<std::int64_t>(row.step) == step) return true;
    }
    return false;
  }
  std::string name(replay::PathId path) const {
    std::string out;
    for (const std::string& part : account.paths.texts(path)) out += (out.empty() ? "" : "/") + part;
    return out;
  }

  replay::Holdings alive(replay::Measure measure, trace::Ordinal at, replay::MemoryId memory = 0) const {
    const replay::Instant instant{memory, measure, at};
    return replay::alive_at(*trace_, {instant}, account.last_step).at(instant);
  }

  replay::Account account;

 private:
  std::vector<replay::Row> rows_;
  Scratch scratch_;
  std::unique_ptr<trace::Trace> trace_;
};

} // namespace memtrace::tests
