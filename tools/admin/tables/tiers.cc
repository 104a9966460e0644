#include "tools/admin/tables/tiers.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/human_text.h"
#include "storage/memory/local_table.h"
#include "tools/admin/text/table_text.h"

namespace strata::admin {
namespace {

bool Used(const control::TierStatus& tier) { return tier.rows() != 0 || tier.rows_in() != 0; }

// For a table that has it alone, the counts of the table say all.
bool InHostMemory(const control::TierStatus& tier) { return tier.name() == "warm"; }

bool OnGpu(const control::TierStatus& tier) { return tier.name() == "hot"; }

// The fastest first; one that this version does not know comes last.
size_t RankOf(const control::TierStatus& tier) {
  size_t rank = 0;
  while (rank < kTiers && TierName(static_cast<Tier>(rank)) != tier.name()) ++rank;
  return rank;
}

// Servers need not have the same ones.
control::TierStatus& TierOf(control::TableStatus* table, const std::string& name) {
  auto& tiers = *table->mutable_tier();
  if (std::ranges::find(tiers, name, &control::TierStatus::name) == tiers.end()) {
    table->add_tier()->set_name(name);
    std::sort(tiers.begin(), tiers.end(),
              [](const auto& a, const auto& b) { return RankOf(a) < RankOf(b); });
  }
  return *std::ranges::find(tiers, name, &control::TierStatus::name);
}

}  // namespace

void AddTiers(const control::TableStatus& part, control::TableStatus* sum) {
  for (const control::TierStatus& tier : part.tier()) {
    control::TierStatus& whole = TierOf(sum, tier.name());
    whole.set_rows(whole.rows() + tier.rows());
    whole.set_bytes(whole.bytes() + tier.bytes());
    whole.set_hits(whole.hits() + tier.hits());
    whole.set_rows_in(whole.rows_in() + tier.rows_in());
    whole.set_bytes_in(whole.bytes_in() + tier.bytes_in());
  }
}

nlohmann::ordered_json TiersJson(const control::TableStatus& table) {
  auto tiers = nlohmann::ordered_json::object();
  for (const control::TierStatus& tier : table.tier()) {
    tiers[tier.name()] = {{"rows", tier.rows()},
                          {"bytes", tier.bytes()},
                          {"hits", tier.hits()},
                          {"rows_in", tier.rows_in()},
                          {"bytes_in", tier.bytes_in()}};
  }
  return tiers;
}

std::string Percent(uint64_t part, uint64_t whole) {
  if (whole == 0) return "-";
  return fmt::format("{:.1f} %", 100 * static_cast<double>(part) / static_cast<double>(whole));
}

std::string TiersText(const TableSums& tables, bool all) {
  using enum TableText::Align;
  TableText text({{"table"},
                  {"tier"},
                  {"rows", kRight},
                  {"memory", kRight},
                  {"hits", kRight},
                  {"hit rate", kRight},
                  {"rows in", kRight},
                  {"bytes in", kRight}});
  bool any = false;
  for (const auto& [name, table] : tables) {
    const bool told = all || std::ranges::any_of(table.tier(), [](const control::TierStatus& tier) {
                        return Used(tier) && !InHostMemory(tier);
                      });
    if (!told) continue;
    any = true;
    uint64_t found_below = 0;
    for (const control::TierStatus& tier : table.tier()) {
      if (!OnGpu(tier)) found_below += tier.hits();
    }
    for (const control::TierStatus& tier : table.tier()) {
      text.AddRow({name, tier.name(), HumanCount(tier.rows()), HumanBytes(tier.bytes()),
                   HumanCount(tier.hits()),
                   Percent(tier.hits(), OnGpu(tier) ? table.lookups() : found_below),
                   HumanCount(tier.rows_in()), HumanBytes(tier.bytes_in())});
    }
  }
  return any ? "\n" + text.ToString() : "";
}

}  // namespace strata::admin
