// Purpose: writes typed rows as lines of JSON: a header with names and types, then partitions and their rows.
#include "analyzer/export/tables/row_stream.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "analyzer/wording/utf8.h"

namespace memtrace::report {

RowStream::RowStream(Write write) : write_(std::move(write)) {
  nlohmann::ordered_json tables = nlohmann::ordered_json::object();
  for (const FleetTable& table : fleet_tables()) {
    nlohmann::ordered_json& one = tables[table.name];
    one["by_rank"] = table.by_rank;
    for (const FleetColumn& column : table.columns) one["columns"].push_back({column.name, column.type});
  }
  write_(nlohmann::ordered_json{{"schema", "memtrace.rows/1"}, {"tables", std::move(tables)}}.dump() + "\n");
}

void RowStream::partition(const std::string& job, const std::optional<std::uint32_t>& rank) {
  const nlohmann::json number = rank ? nlohmann::json(*rank) : nlohmann::json(nullptr);
  write_(nlohmann::ordered_json{{"job", printable(job)}, {"rank", number}}.dump() + "\n");
}

void RowStream::finish() {
  write_(fmt::format("{{\"rows\":{}}}\n", rows_));
}

void RowStream::begin(FleetTableId table) {
  table_ = table;
  line_ = fmt::format("[\"{}\"", fleet_tables()[static_cast<std::size_t>(table)].name);
}

void RowStream::end(std::size_t values) {
  if (values != fleet_tables()[static_cast<std::size_t>(table_)].columns.size())
    throw std::logic_error("a row of another number of columns");
  line_ += "]\n";
  ++rows_;
  write_(line_);
}

void RowStream::value(std::nullptr_t) {
  line_ += ",null";
}

void RowStream::value(std::int64_t number) {
  line_ += fmt::format(",{}", number);
}

void RowStream::value(bool flag) {
  line_ += flag ? ",true" : ",false";
}

void RowStream::value(double number) {
  if (!std::isfinite(number)) return value(nullptr);
  line_ += fmt::format(",{}", number);
}

void RowStream::value(std::string_view text) {
  line_ += "," + nlohmann::json(printable(text)).dump();
}

} // namespace memtrace::report
