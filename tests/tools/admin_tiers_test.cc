#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tools/admin/tables/tiers.h"

namespace strata::admin {
namespace {

void AddTier(control::TableStatus* table, const std::string& name, uint64_t rows, uint64_t rows_in,
             uint64_t memory) {
  control::TierStatus* tier = table->add_tier();
  tier->set_name(name);
  tier->set_rows(rows);
  tier->set_bytes(memory);
  tier->set_hits(10 * rows);
  tier->set_rows_in(rows_in);
  tier->set_bytes_in(8 * rows_in);
}

// A table of a server with GPUs that has come to use all its tiers.
control::TableStatus ThreeTiers() {
  control::TableStatus table;
  table.set_lookups(200);
  AddTier(&table, "hot", 5, 7, 1024);
  AddTier(&table, "warm", 20, 3, 2048);
  AddTier(&table, "cold", 1000, 1001, 0);
  return table;
}

TEST(Tiers, AreAddedUpOverServersByName) {
  control::TableStatus host;
  AddTier(&host, "warm", 2, 1, 64);
  control::TableStatus sum;
  AddTiers(ThreeTiers(), &sum);
  AddTiers(host, &sum);
  AddTiers(control::TableStatus(), &sum);  // of a server that knows no tiers
  AddTiers(ThreeTiers(), &sum);
  EXPECT_EQ(TiersJson(sum), nlohmann::ordered_json::parse(R"({
      "hot": {"rows": 10, "bytes": 2048, "hits": 100, "rows_in": 14, "bytes_in": 112},
      "warm": {"rows": 42, "bytes": 4160, "hits": 420, "rows_in": 7, "bytes_in": 56},
      "cold": {"rows": 2000, "bytes": 0, "hits": 20000, "rows_in": 2002, "bytes_in": 16016}})"));
}

TEST(Tiers, TheFastestComesFirstWhicheverServerHasIt) {
  control::TableStatus host;
  AddTier(&host, "warm", 2, 1, 64);
  control::TableStatus sum;
  AddTiers(host, &sum);
  AddTiers(ThreeTiers(), &sum);
  ASSERT_EQ(sum.tier_size(), 3);
  EXPECT_EQ(sum.tier(0).name(), "hot");
  EXPECT_EQ(sum.tier(1).name(), "warm");
  EXPECT_EQ(sum.tier(1).rows(), 22U);
  EXPECT_EQ(sum.tier(2).name(), "cold");
}

TEST(Tiers, ATableThatIsNotInHostMemoryAloneIsShown) {
  control::TableStatus in_memory;
  AddTier(&in_memory, "hot", 0, 0, 0);
  AddTier(&in_memory, "warm", 20, 0, 2048);
  AddTier(&in_memory, "cold", 0, 0, 0);
  control::TableStatus returned = in_memory;  // what was on disk has come up
  returned.mutable_tier(1)->set_rows_in(4);
  returned.mutable_tier(2)->set_rows_in(4);
  EXPECT_EQ(TiersText({}, false), "");
  EXPECT_EQ(TiersText({{"a", in_memory}, {"old", {}}}, false), "");
  EXPECT_EQ(TiersText({{"a", in_memory}, {"b", ThreeTiers()}, {"c", returned}}, false),
            "\n"
            "table  tier   rows   memory    hits  hit rate  rows in  bytes in\n"
            "b      hot       5  1.0 KiB      50    25.0 %        7      56 B\n"
            "b      warm     20  2.0 KiB     200     2.0 %        3      24 B\n"
            "b      cold  1,000      0 B  10,000    98.0 %    1,001   7.8 KiB\n"
            "c      hot       0      0 B       0         -        0       0 B\n"
            "c      warm     20  2.0 KiB     200   100.0 %        4       0 B\n"
            "c      cold      0      0 B       0     0.0 %        4       0 B\n");
  // On a server with a GPU that it got no memory of.
  in_memory.set_lookups(200);
  EXPECT_EQ(TiersText({{"a", in_memory}}, true),
            "\n"
            "table  tier  rows   memory  hits  hit rate  rows in  bytes in\n"
            "a      hot      0      0 B     0     0.0 %        0       0 B\n"
            "a      warm    20  2.0 KiB   200   100.0 %        0       0 B\n"
            "a      cold     0      0 B     0     0.0 %        0       0 B\n");
}

TEST(Tiers, AServerThatTellsOfNoneHasNoneInJson) { EXPECT_EQ(TiersJson({}).dump(), "{}"); }

}  // namespace
}  // namespace strata::admin
