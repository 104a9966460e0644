#include "worker/gbdt/catboost/catboost_predictor.h"

namespace strata {

CatBoostPredictor::CatBoostPredictor(const CatBoostModel& model) : model_(model), bins_(model) {
  for (const CatBoostTree& tree : model.trees) {
    for (const uint32_t split : tree.splits) tree_splits_.push_back(bins_.split(split));
  }
}

void CatBoostPredictor::Raw(const CatBoostRows& rows, std::span<double> out) const {
  const size_t count = rows.rows();
  std::vector<uint8_t> bins(bins_.columns() * count);
  bins_.Fill(rows, bins);
  for (double& value : out) value = 0;
  const BinSplit* splits = tree_splits_.data();
  for (const CatBoostTree& tree : model_.trees) {
    if (model_.oblivious) {
      AddOblivious(tree, splits, bins, out);
      splits += tree.splits.size();
    } else {
      AddOther(tree, bins, count, out);
    }
  }
  for (size_t i = 0; i < out.size(); ++i) {
    out[i] = out[i] * model_.scale + model_.bias[i % model_.outputs];
  }
}

void CatBoostPredictor::AddLeaf(const CatBoostTree& tree, size_t leaf, double* out) const {
  const double* const values = tree.values.data() + leaf * model_.outputs;
  for (size_t k = 0; k < model_.outputs; ++k) out[k] += values[k];
}

void CatBoostPredictor::AddOblivious(const CatBoostTree& tree, const BinSplit* splits,
                                     std::span<const uint8_t> bins, std::span<double> out) const {
  const size_t rows = out.size() / model_.outputs;
  std::vector<uint16_t> leaves(rows, 0);  // a tree has at most 16 splits
  uint16_t* const leaf = leaves.data();
  for (size_t k = 0; k < tree.splits.size(); ++k) {
    const uint8_t* const bin = bins.data() + splits[k].column * rows;
    const uint8_t mask = splits[k].mask;
    const uint8_t least = splits[k].least;
    const auto bit = static_cast<uint16_t>(1U << k);
    for (size_t row = 0; row < rows; ++row) {
      const bool is_set = static_cast<uint8_t>(bin[row] ^ mask) >= least;
      leaf[row] = static_cast<uint16_t>(leaf[row] | (is_set ? bit : 0));
    }
  }
  if (model_.outputs == 1) {
    for (size_t row = 0; row < rows; ++row) out[row] += tree.values[leaf[row]];
    return;
  }
  for (size_t row = 0; row < rows; ++row) AddLeaf(tree, leaf[row], &out[row * model_.outputs]);
}

void CatBoostPredictor::AddOther(const CatBoostTree& tree, std::span<const uint8_t> bins,
                                 size_t rows, std::span<double> out) const {
  for (size_t row = 0; row < rows; ++row) {
    int32_t at = tree.nodes.empty() ? ~0 : 0;
    while (at >= 0) {
      const CatBoostNode& node = tree.nodes[static_cast<size_t>(at)];
      const BinSplit& split = bins_.split(node.split);
      at = split.Of(bins[split.column * rows + row]) ? node.right : node.left;
    }
    const int32_t leaf = ~at;
    AddLeaf(tree, static_cast<size_t>(leaf), &out[row * model_.outputs]);
  }
}

}  // namespace strata
