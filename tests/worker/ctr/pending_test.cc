#include "worker/ctr/pending.h"

#include <gtest/gtest.h>

#include <vector>

namespace strata {
namespace {

// Keeps what is submitted until the test says how it ended.
class HeldStore final : public TableStore {
 public:
  Status CreateTable(const TableSpec&) override { return {}; }
  Status DropTable(const std::string&) override { return {}; }
  Result<std::vector<TableSpec>> ListTables() override { return std::vector<TableSpec>{}; }
  void Submit(Operation, Completion done) override { held.push_back(std::move(done)); }

  std::vector<Completion> held;
};

TEST(Pending, BringsTheOutcomeOnce) {
  HeldStore store;
  Pending pending;
  EXPECT_TRUE(pending.Wait().ok());
  pending.Submit(store, {}, nullptr);
  store.held[0]({.status = Refused("no"), .lanes = {}});
  EXPECT_EQ(pending.Wait().code(), StatusCode::kRefused);
  EXPECT_TRUE(pending.Wait().ok());
}

TEST(Pending, AFailureEndsTheWaitForOthersOfItsGroup) {
  HeldStore store;
  const auto group = std::make_shared<PendingGroup>();
  Pending lookup(group);
  Pending update(group);
  auto owner = std::make_shared<int>(0);
  lookup.Submit(store, {}, owner);
  update.Submit(store, {}, nullptr);
  store.held[1]({.status = Refused("draining"), .lanes = {}});
  EXPECT_EQ(lookup.Wait().message(), "draining");  // though its own outcome never came
  EXPECT_EQ(update.Wait().message(), "draining");
  EXPECT_EQ(owner.use_count(), 2);  // the store may still write there
  store.held.clear();
  EXPECT_EQ(owner.use_count(), 1);
}

}  // namespace
}  // namespace strata
