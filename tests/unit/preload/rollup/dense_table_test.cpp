// Purpose: the dense table of rows against std::map: rows that share a place of the index, and that are
// dropped.
#include "preload/rollup/dense_table.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "host.h"
#include "tests/unit/seed.h"

namespace memtrace::rollup {
namespace {

struct NumberedRow {
  std::uint64_t key;
  std::uint64_t value;
  std::uint64_t hash() const { return key / 8; } // eight keys share a place
  bool same(const NumberedRow& other) const { return key == other.key; }
};

TEST(Dense, LikeAMap) {
  const Host host = tests::host();
  Dense<NumberedRow, 16, 512> rows;
  std::map<std::uint64_t, std::uint64_t> model;
  std::mt19937_64 random(tests::seed(7));
  for (int round = 0; round < 3000; ++round) {
    // Mostly few rows, as of one step: then the index is cleared where they are. Sometimes as many as fit.
    const std::uint64_t added = round % 100 == 0 ? 600 : random() % 12;
    for (std::uint64_t i = 0; i < added; ++i) {
      const std::uint64_t key = random() % 2000;
      NumberedRow* const row = rows.find_or_add(host, {key, 0});
      if (row == nullptr) {
        ASSERT_EQ(rows.size(), 512u);
        continue;
      }
      row->value = model[key] = random();
    }
    const std::uint64_t kept = random() % 4;
    rows.keep_if([&](const NumberedRow& row) { return row.key % 4 == kept; });
    std::erase_if(model, [&](const auto& row) { return row.first % 4 != kept; });
    if (round % 7 == 0) rows.index_again();
    ASSERT_EQ(rows.size(), model.size());
    for (std::uint64_t key = 0; key < 2000; ++key) {
      const NumberedRow* const row = rows.find({key, 0});
      const auto known = model.find(key);
      ASSERT_EQ(row != nullptr, known != model.end()) << key;
      ASSERT_TRUE(row == nullptr || row->value == known->second) << key;
    }
  }
}

} // namespace
} // namespace memtrace::rollup
