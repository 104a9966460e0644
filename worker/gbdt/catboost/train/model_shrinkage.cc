#include "worker/gbdt/catboost/train/model_shrinkage.h"

#include <fmt/format.h>

namespace strata {

Result<ModelShrinkage> ModelShrinkage::Make(const ShrinkParameters& parameters,
                                            double learning_rate) {
  const bool is_constant = parameters.mode == ShrinkMode::kConstant;
  const double lost = parameters.rate * (is_constant ? learning_rate : 1);
  if (lost < 1) return ModelShrinkage(parameters, learning_rate);
  return Invalid(fmt::format(
      "model_shrink_rate: expected a rate that{} is below 1, found {}: lower it",
      is_constant ? fmt::format(" times the learning rate {}", static_cast<float>(learning_rate))
                  : "",
      parameters.rate));
}

double ModelShrinkage::Next() {
  double lost = 0;
  if (!remaining_.empty()) {
    lost = p_.mode == ShrinkMode::kConstant ? p_.rate * learning_rate_
                                            : p_.rate / static_cast<double>(remaining_.size());
  }
  remaining_.push_back(1 - lost);
  return remaining_.back();
}

void ModelShrinkage::Shrink(CatBoostModel* model) const {
  if (p_.rate == 0) return;
  double remains = 1;  // of the tree
  for (size_t tree = model->trees.size(); tree > 0; --tree) {
    for (double& value : model->trees[tree - 1].values) value *= remains;
    remains *= remaining_[tree - 1];
  }
  for (double& bias : model->bias) bias *= remains;
}

}  // namespace strata
