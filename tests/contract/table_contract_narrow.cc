// Tables whose rows are bf16 or fp16.
#include <fmt/format.h>

#include <cmath>

#include "kernels/core/initializer.h"
#include "kernels/core/narrow.h"
#include "tests/contract/table_contract.h"

namespace strata {
namespace {

TableSpec NarrowSpec(const std::string& name, uint32_t dim, OptimizerKind optimizer,
                     ElementType value_type, ElementType state_type) {
  TableSpec spec = ContractSpec(name, dim, optimizer, InitializerKind::kUniform);
  spec.value_type = value_type;
  spec.state_type = state_type;
  return spec;
}

float Nearest(ElementType type, float value) {
  return narrow::FromBits(type, narrow::ToBits(type, value));
}

TEST_P(TableContract, NarrowTablesHoldTheNearestOfWhatComesIn) {
  for (const ElementType type : {ElementType::kBf16, ElementType::kFp16}) {
    const TableSpec spec = NarrowSpec(std::string(ElementTypeName(type)), 3,
                                      OptimizerKind::kAdaGrad, type, ElementType::kFp16);
    store.Create(spec);
    const std::vector<Key> keys = {1, 2};
    std::vector<float> expected(6);
    InitialRows(Exec{}, spec.initializer, spec.seed, keys, 3, expected);
    for (float& value : expected) value = Nearest(type, value);
    EXPECT_EQ(store.Lookup(spec, keys), expected) << "missing rows too";
    const std::vector<float> values = {1.001F, -3.14159F, 1e-6F, 65000.5F, 0.1F, -1e-30F};
    store.Assign(spec, keys, values);
    for (size_t i = 0; i < values.size(); ++i) expected[i] = Nearest(type, values[i]);
    EXPECT_EQ(store.Lookup(spec, keys), expected);
    store.Update(spec, keys, std::vector<float>(6, 0.0F), 1);
    EXPECT_EQ(store.Lookup(spec, keys), expected) << "a gradient of zero moves no weight";
  }
}

// Of 1.0 in bf16 the next number below is 2^-8 away; a step of 2^-14 is what nearest rounding would
// lose every time.
TEST_P(TableContract, StepsBelowTheTypesResolutionMoveWeightsOnAverage) {
  constexpr size_t kRows = 1000;
  constexpr uint64_t kSteps = 64;
  TableSpec spec = NarrowSpec("t", 4, OptimizerKind::kSgd, ElementType::kBf16, ElementType::kFp32);
  spec.optimizer.learning_rate = 0x1p-14F;
  store.Create(spec);
  std::vector<Key> keys(kRows);
  for (size_t i = 0; i < kRows; ++i) keys[i] = i * 0x9e3779b97f4a7c15ULL;
  store.Assign(spec, keys, std::vector<float>(4 * kRows, 1.0F));
  for (uint64_t step = 1; step <= kSteps; ++step) {
    store.Update(spec, keys, std::vector<float>(4 * kRows, 1.0F), step);
  }
  double sum = 0;
  for (const float value : store.Lookup(spec, keys)) sum += value;
  const double moved = 1.0 - sum / (4 * kRows);
  EXPECT_NEAR(moved, kSteps * 0x1p-14, 0.1 * kSteps * 0x1p-14);
}

// The squares of such gradients lie far below fp16's least number.
TEST_P(TableContract, StateOf16BitsMovesWeightsAsStateOf32BitsDoesWhereGradientsAreSmall) {
  constexpr size_t kRows = 100;
  constexpr size_t kElements = 4 * kRows;
  constexpr uint64_t kSteps = 32;
  std::vector<Key> keys(kRows);
  for (size_t i = 0; i < kRows; ++i) keys[i] = i * 0x9e3779b97f4a7c15ULL;
  for (const OptimizerKind kind :
       {OptimizerKind::kAdaGrad, OptimizerKind::kRowwiseAdaGrad, OptimizerKind::kRmsProp,
        OptimizerKind::kFtrl, OptimizerKind::kAdam, OptimizerKind::kLazyAdam}) {
    const auto moved = [&](ElementType state_type) {
      TableSpec spec =
          NarrowSpec(fmt::format("{}.{}", OptimizerKindName(kind), ElementTypeName(state_type)), 4,
                     kind, ElementType::kFp32, state_type);
      spec.optimizer.learning_rate = 0.01F;
      spec.optimizer.initial_accumulator = 0.0F;
      spec.optimizer.l1 = 0.0F;
      store.Create(spec);
      store.Assign(spec, keys, std::vector<float>(kElements, 1.0F));
      for (uint64_t step = 1; step <= kSteps; ++step) {
        store.Update(spec, keys, std::vector<float>(kElements, 1e-4F), step);
      }
      double sum = 0;
      for (const float value : store.Lookup(spec, keys)) sum += 1.0 - value;
      return sum / kElements;
    };
    const double expected = moved(ElementType::kFp32);
    EXPECT_GT(std::abs(expected), 1e-3) << OptimizerKindName(kind);
    for (const ElementType type : {ElementType::kBf16, ElementType::kFp16}) {
      EXPECT_NEAR(moved(type), expected, 0.02 * std::abs(expected))
          << OptimizerKindName(kind) << ", " << ElementTypeName(type);
    }
  }
}

}  // namespace
}  // namespace strata
