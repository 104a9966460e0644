#include "tests/contract/table_bits.h"

#include <gtest/gtest.h>

#include <bit>

namespace strata {

void AddPage(const ScanPage& page, TableBits* bits) {
  ASSERT_EQ(page.counters.size(), page.keys.size());
  const size_t width = page.keys.empty() ? 0 : page.rows.size() / page.keys.size();
  ASSERT_EQ(page.rows.size(), page.keys.size() * width);
  for (size_t i = 0; i < page.keys.size(); ++i) {
    const RowCounters& counters = page.counters[i];
    RowBits row{.elements = {},
                .frequency = counters.frequency,
                .epoch = counters.checkpoint_epoch,
                .last_step = counters.last_step};
    for (size_t n = i * width; n < (i + 1) * width; ++n) {
      row.elements.push_back(std::bit_cast<uint32_t>(page.rows[n]));
    }
    EXPECT_TRUE(bits->emplace(page.keys[i], std::move(row)).second)
        << "key " << page.keys[i] << " came twice";
  }
}

TableBits BitsOfTable(const LocalTable& table) {
  TableBits bits;
  ScanPage page;
  page.with_state = true;
  page.rows_max = 100;
  do {
    EXPECT_TRUE(table.Scan(page).ok());
    AddPage(page, &bits);
  } while (!page.done && !testing::Test::HasFailure());
  return bits;
}

TableBits BitsOfSnapshot(LocalTable& table) {
  TableBits bits;
  ScanPage page;
  do {
    EXPECT_TRUE(table.SnapshotPage(page).ok());
    AddPage(page, &bits);
  } while (!page.done && !testing::Test::HasFailure());
  table.EndSnapshot();
  return bits;
}

}  // namespace strata
