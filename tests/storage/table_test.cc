// Names, definitions and the checks that every store shares.
#include "storage/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "storage/memory/host_store.h"
#include "storage/table_spec.h"

namespace strata {
namespace {

using testing::HasSubstr;

void ExpectInvalid(const TableSpec& spec, const std::string& words) {
  const Status status = ValidateTableSpec(spec);
  EXPECT_EQ(status.code(), StatusCode::kInvalid);
  EXPECT_THAT(status.message(), HasSubstr(words));
}

TEST(TableSpecTest, EveryFieldIsChecked) {
  TableSpec good;
  good.name = "Ads_user-1.v2";
  ASSERT_TRUE(ValidateTableSpec(good).ok());
  TableSpec spec = good;
  spec.name = std::string(128, 'x');
  EXPECT_TRUE(ValidateTableSpec(spec).ok());
  spec.name += 'x';
  ExpectInvalid(spec, "found 129");
  spec.name = "a b";
  ExpectInvalid(spec, "byte 0x20 at position 1");
  spec.name = std::string("a\0", 2);
  ExpectInvalid(spec, "byte 0x00");
  spec = good;
  spec.dim = 0;
  ExpectInvalid(spec, "dim: expected 1 to 1024, found 0");
  spec = good;
  spec.optimizer.learning_rate = -1.0F;
  ExpectInvalid(spec, "learning_rate: expected a number above 0 and below 1e+30, found -1");
  spec.optimizer.learning_rate = 0.0F;
  ExpectInvalid(spec, "learning_rate: expected a number above 0 and below 1e+30, found 0");
  for (const float bad : {INFINITY, -INFINITY, NAN}) {
    spec.optimizer.learning_rate = bad;
    ExpectInvalid(spec, "learning_rate: expected a number above 0");
  }
  spec = good;
  spec.optimizer.kind = static_cast<OptimizerKind>(9);
  ExpectInvalid(spec, "optimizer.kind");
  spec.optimizer.kind = OptimizerKind::kAdam;
  spec.optimizer.beta1 = 1.0F;
  ExpectInvalid(spec, "beta1");
  spec.optimizer.beta1 = 0.0F;
  spec.optimizer.beta2 = NAN;
  ExpectInvalid(spec, "beta2");
  spec.optimizer.beta2 = 0.5F;
  spec.optimizer.epsilon = 0.0F;
  ExpectInvalid(spec, "epsilon: expected a number above 0");
  spec = good;
  spec.optimizer.kind = OptimizerKind::kAdaGrad;
  spec.optimizer.initial_accumulator = -0.5F;
  ExpectInvalid(spec, "initial_accumulator");
  spec = good;
  spec.initializer.kind = static_cast<InitializerKind>(0);
  ExpectInvalid(spec, "initializer.kind");
  spec = good;
  spec.initializer.scale = -1.0F;
  ExpectInvalid(spec, "initializer.scale");
}

TEST(TableSpecTest, NamesAndKindsTranslateBothWays) {
  for (const OptimizerKind kind :
       {OptimizerKind::kSgd, OptimizerKind::kAdaGrad, OptimizerKind::kAdam}) {
    EXPECT_EQ(*ParseOptimizerKind(OptimizerKindName(kind)), kind);
  }
  for (const InitializerKind kind :
       {InitializerKind::kZero, InitializerKind::kUniform, InitializerKind::kNormal}) {
    EXPECT_EQ(*ParseInitializerKind(InitializerKindName(kind)), kind);
  }
  EXPECT_THAT(ParseOptimizerKind("Adam").status().message(), HasSubstr("sgd, adagrad or adam"));
  EXPECT_THAT(ParseInitializerKind("").status().message(), HasSubstr("zero, uniform or normal"));
  EXPECT_EQ(OptimizerKindName(static_cast<OptimizerKind>(0)), "unknown");
}

TEST(TableSpecTest, SchemaFollowsTheOptimizer) {
  TableSpec spec;
  spec.dim = 5;
  EXPECT_EQ(SchemaOf(spec).row_bytes(), 32U + 16U);
  spec.optimizer.kind = OptimizerKind::kAdaGrad;
  EXPECT_EQ(SchemaOf(spec).state_width, 5U);
  spec.optimizer.kind = OptimizerKind::kAdam;
  EXPECT_EQ(SchemaOf(spec).state_width, 10U);
  EXPECT_EQ(SchemaOf(spec).counters_offset(), 64U);
}

TEST(TableSpecTest, DifferencesAreNamed) {
  TableSpec a, b;
  EXPECT_EQ(DifferenceOf(a, b), "");
  b.dim = 8;
  b.optimizer.kind = OptimizerKind::kAdam;
  b.initializer.scale = 1.0F;
  EXPECT_EQ(DifferenceOf(a, b),
            "dim 1 here, 8 asked for; optimizer sgd here, adam asked for; scale 0.01 here, 1 asked "
            "for");
}

TEST(TableSpecTest, AckLevelsHaveNamesAndMemoryAloneOffersOne) {
  for (const char* name : {"default", "applied", "logged", "synced"}) {
    EXPECT_EQ(AckLevelName(*ParseAckLevel(name)), name);
  }
  EXPECT_EQ(ParseAckLevel("replicated").status().code(), StatusCode::kRefused);
  EXPECT_THAT(ParseAckLevel("replicated").status().message(),
              HasSubstr("'replicated' is not offe"));
  EXPECT_EQ(ParseAckLevel("twice").status().code(), StatusCode::kInvalid);
  TableSpec spec;
  spec.name = "t";
  const auto store = MakeHostStore();
  spec.ack = AckLevel::kLogged;
  EXPECT_EQ(store->CreateTable(spec).code(), StatusCode::kRefused);
  spec.ack = AckLevel::kApplied;
  EXPECT_TRUE(store->CreateTable(spec).ok());
}

TEST(ValidateOperationTest, KindsAndKeysMustFit) {
  Operation operation;
  operation.kind = static_cast<OpKind>(0);
  EXPECT_THAT(ValidateOperation(operation).message(), HasSubstr("operation kind"));
  const std::vector<Key> keys = {1};
  operation.kind = OpKind::kScan;
  ScanPage page;
  operation.parts = {{.table = TableId{1}, .keys = keys, .page = &page}};
  EXPECT_THAT(ValidateOperation(operation).message(),
              HasSubstr("scan, part 0: takes no keys, found 1"));
  operation.ack = static_cast<AckLevel>(77);
  operation.kind = OpKind::kErase;
  EXPECT_THAT(ValidateOperation(operation).message(), HasSubstr("ack level 77 does not exist"));
  operation.kind = OpKind::kPrefetch;
  EXPECT_TRUE(ValidateOperation(operation).ok()) << "a read has nothing to acknowledge";
}

// Completes on another thread, as a store with servers does.
class LateStore : public TableStore {
 public:
  Status CreateTable(const TableSpec&) override { return {}; }
  Status DropTable(const std::string&) override { return {}; }
  Result<std::vector<TableSpec>> ListTables() override { return std::vector<TableSpec>{}; }
  void Submit(Operation, Completion done) override {
    thread_ = std::jthread([done] { done({Lost("server 3 is gone"), {{3, Status::Ok()}}}); });
  }

 private:
  std::jthread thread_;
};

TEST(SubmitAndWaitTest, WaitsForACompletionOnAnotherThread) {
  LateStore store;
  for (int i = 0; i < 100; ++i) {
    const Outcome outcome = SubmitAndWait(store, Operation{});
    EXPECT_EQ(outcome.status.code(), StatusCode::kLost);
    ASSERT_EQ(outcome.lanes.size(), 1U);
    EXPECT_EQ(outcome.lanes[0].lane, 3U);
  }
}

}  // namespace
}  // namespace strata
