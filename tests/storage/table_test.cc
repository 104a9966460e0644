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
  spec.optimizer.kind = static_cast<OptimizerKind>(10);
  ExpectInvalid(spec, "optimizer.kind: expected 1 to 9, found 10");
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

TEST(TableSpecTest, ConstantsOfOptimizersAreChecked) {
  TableSpec good;
  good.name = "t";
  const auto with = [&](OptimizerKind kind, auto OptimizerSpec::*field, auto value) {
    TableSpec spec = good;
    spec.optimizer.kind = kind;
    spec.optimizer.*field = value;
    return spec;
  };
  using enum OptimizerKind;
  using Spec = OptimizerSpec;
  for (const float bad : {-0.1F, 1.0F, NAN}) {
    ExpectInvalid(with(kMomentum, &Spec::momentum, bad),
                  "optimizer.momentum: expected a number of at least 0 and below 1, found");
    ExpectInvalid(with(kRmsProp, &Spec::rho, bad), "optimizer.rho: expected");
  }
  for (const float bad : {-1.0F, INFINITY, NAN}) {
    ExpectInvalid(with(kFtrl, &Spec::l1, bad), "optimizer.l1: expected");
    ExpectInvalid(with(kFtrl, &Spec::l2, bad), "optimizer.l2: expected");
    ExpectInvalid(with(kFtrl, &Spec::beta, bad), "optimizer.beta: expected");
    ExpectInvalid(with(kSgd, &Spec::clip_value, bad), "optimizer.clip_value: expected");
    ExpectInvalid(with(kSgd, &Spec::clip_norm, bad), "optimizer.clip_norm: expected");
    ExpectInvalid(with(kSgd, &Spec::weight_decay, bad), "optimizer.weight_decay: expected");
  }
  ExpectInvalid(with(kRmsProp, &Spec::epsilon, 0.0F), "optimizer.epsilon: expected");
  ExpectInvalid(with(kLazyAdam, &Spec::beta1, 1.0F), "optimizer.beta1: expected");
}

TEST(TableSpecTest, ConstantsWithoutEffectAreRefused) {
  TableSpec spec;
  spec.name = "t";
  spec.optimizer.momentum = 0.5F;
  ExpectInvalid(spec,
                "optimizer.momentum: has no effect on optimizer sgd (it is for momentum and "
                "nesterov): expected 0.9, found 0.5");
  spec.optimizer = {.kind = OptimizerKind::kAdam, .l1 = 1.0F};
  ExpectInvalid(
      spec, "optimizer.l1: has no effect on optimizer adam (it is for ftrl): expected 0, found 1");
  spec.optimizer = {.decay_start = 7};
  ExpectInvalid(spec,
                "optimizer.decay_start: has no effect without decay_steps: expected 0, found 7");
  spec.optimizer = {.end_learning_rate = NAN};
  ExpectInvalid(spec, "optimizer.end_learning_rate: has no effect without decay_steps");
  // There are tables that hold these.
  spec.optimizer = {.epsilon = 1.0F, .beta1 = 0.5F, .initial_accumulator = 1.0F};
  spec.state_type = ElementType::kFp16;
  EXPECT_TRUE(ValidateTableSpec(spec).ok());
}

TEST(TableSpecTest, SchedulesAreChecked) {
  TableSpec spec;
  spec.name = "t";
  spec.optimizer = {.learning_rate = 0.5F,
                    .warmup_steps = 10,
                    .decay_start = 10,
                    .decay_steps = 5,
                    .end_learning_rate = 0.5F};
  EXPECT_TRUE(ValidateTableSpec(spec).ok());
  spec.optimizer.decay_start = 9;
  ExpectInvalid(spec, "optimizer.decay_start: expected at least warmup_steps, 10, found 9");
  spec.optimizer.decay_start = 10;
  spec.optimizer.end_learning_rate = 0.75F;
  ExpectInvalid(spec, "end_learning_rate: expected at most learning_rate, 0.5, found 0.75");
  spec.optimizer.end_learning_rate = 0.0F;
  EXPECT_TRUE(ValidateTableSpec(spec).ok());
  spec.optimizer.decay_power = 0.0F;
  ExpectInvalid(spec, "decay_power: expected a number above 0");
  spec.optimizer.decay_power = 1.0F;
  spec.optimizer.kind = OptimizerKind::kFtrl;
  ExpectInvalid(spec, "end_learning_rate: expected a number above 0, by which ftrl divides");
}

TEST(TableSpecTest, NamesAndKindsTranslateBothWays) {
  for (uint8_t kind = 1; kind <= 9; ++kind) {
    EXPECT_EQ(*ParseOptimizerKind(OptimizerKindName(OptimizerKind{kind})), OptimizerKind{kind});
  }
  for (const InitializerKind kind :
       {InitializerKind::kZero, InitializerKind::kUniform, InitializerKind::kNormal}) {
    EXPECT_EQ(*ParseInitializerKind(InitializerKindName(kind)), kind);
  }
  EXPECT_THAT(ParseOptimizerKind("Adam").status().message(),
              HasSubstr("expected sgd, momentum, nesterov, adagrad, rowwise_adagrad, "
                        "rmsprop, adam, lazy_adam or ftrl"));
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
  spec.optimizer.kind = OptimizerKind::kRowwiseAdaGrad;
  EXPECT_EQ(SchemaOf(spec).state_width, 1U);
  EXPECT_EQ(SchemaOf(spec).counters_offset(), 32U);
}

TEST(TableSpecTest, DifferencesAreNamed) {
  TableSpec a, b;
  EXPECT_EQ(DifferenceOf(a, b), "");
  b.dim = 8;
  b.optimizer.kind = OptimizerKind::kAdam;
  b.optimizer.warmup_steps = 10;
  b.initializer.scale = 1.0F;
  EXPECT_EQ(DifferenceOf(a, b),
            "dim 1 here, 8 asked for; optimizer sgd here, adam asked for; warmup_steps 0 here, 10 "
            "asked for; scale 0.01 here, 1 asked for");
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
