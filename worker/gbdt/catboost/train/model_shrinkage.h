// ModelShrinkage: how a model loses size as it grows, as CatBoost's model_shrink_rate says
// (private/libs/algo/train.cpp of its sources).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "strata/status.h"
#include "worker/gbdt/catboost/catboost_model.h"

namespace strata {

enum class ShrinkMode : uint8_t {
  kConstant,    // 1 - rate * learning rate remains at each tree but the first
  kDecreasing,  // 1 - rate / the number of trees that are there
};

struct ShrinkParameters {
  ShrinkMode mode = ShrinkMode::kConstant;
  double rate = 0;  // 0: nothing is lost
};

// One thread.
class ModelShrinkage {
 public:
  // kInvalid: less than nothing, or nothing, would remain.
  static Result<ModelShrinkage> Make(const ShrinkParameters& parameters, double learning_rate);

  // What remains of raw values before the next tree is made: 1 where nothing is lost.
  double Next();
  // Multiplies the start value, and the values of each tree, by what the calls of Next after it
  // have left. The trees have the values that were found for them, and are no more than the calls.
  void Shrink(CatBoostModel* model) const;

 private:
  ModelShrinkage(const ShrinkParameters& parameters, double learning_rate)
      : p_(parameters), learning_rate_(learning_rate) {}

  ShrinkParameters p_;
  double learning_rate_;
  std::vector<double> remaining_;  // before each tree
};

}  // namespace strata
