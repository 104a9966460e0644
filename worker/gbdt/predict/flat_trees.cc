#include "worker/gbdt/predict/flat_trees.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace strata {
namespace {

constexpr size_t kLanes = 8;  // rows that descend together
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

}  // namespace

ForestColumn FlatTrees::ColumnOf(const TreeNode& node) {
  const bool ordinary = node.categorical || node.missing == MissingKind::kNone;
  return {.feature = static_cast<uint32_t>(node.feature),
          .categorical = node.categorical,
          .missing = ordinary ? MissingKind::kNone : node.missing,
          .default_left = !ordinary && node.default_left};
}

FlatTrees::FlatTrees(const TreeModel& model, size_t begin, size_t end) {
  begin *= model.trees_per_iteration;
  end *= model.trees_per_iteration;
  AddColumns(model, begin, end);
  for (size_t t = begin; t < end; ++t) AddTree(model.trees[t]);
}

void FlatTrees::AddColumns(const TreeModel& model, size_t begin, size_t end) {
  for (size_t t = begin; t < end; ++t) {
    for (const TreeNode& node : model.trees[t].nodes) all_columns_.push_back(ColumnOf(node));
    std::ranges::sort(all_columns_);
    all_columns_.erase(std::unique(all_columns_.begin(), all_columns_.end()), all_columns_.end());
  }
  if (all_columns_.empty()) all_columns_.emplace_back();  // leaves read one
  of_feature_.assign(model.features() + 1, 0);
  for (const ForestColumn& column : all_columns_) {
    if (column.feature < model.features()) ++of_feature_[column.feature + 1];
    empty_row_.push_back(column.Of(0));
  }
  for (size_t f = 0; f < model.features(); ++f) of_feature_[f + 1] += of_feature_[f];
}

void FlatTrees::AddTree(const Tree& tree) {
  const size_t begin = nodes_.size();
  ForestTree flat{.begin = begin};
  const size_t set_base = set_words_.size();
  set_words_.insert(set_words_.end(), tree.set_words.begin(), tree.set_words.end());
  // Places in the order of levels, so that a tree's top lies together.
  std::vector<int32_t> places = {tree.nodes.empty() ? ~0 : 0};
  for (size_t i = 0; i < places.size(); ++i) {
    const int32_t at = places[i];
    if (at < 0) {
      const auto leaf = static_cast<size_t>(~at);
      nodes_.push_back({.threshold = kNaN, .column = 0, .left = static_cast<uint32_t>(i) - 1});
      values_.push_back(tree.leaves[leaf].value);
      leaves_.push_back(static_cast<uint32_t>(leaf));
      continue;
    }
    const TreeNode& node = tree.nodes[static_cast<size_t>(at)];
    const auto column = std::ranges::lower_bound(all_columns_, ColumnOf(node));
    nodes_.push_back({.threshold = node.threshold,
                      .column = static_cast<uint32_t>(column - all_columns_.begin()),
                      .left = static_cast<uint32_t>(places.size())});
    values_.push_back(0);
    leaves_.push_back(0);
    places.push_back(node.left);
    places.push_back(node.right);
    if (!node.categorical) continue;
    flat.categorical = true;
    const auto set = static_cast<size_t>(node.threshold);
    sets_.resize(nodes_.size());
    sets_.back() = {.begin = static_cast<uint32_t>(set_base + tree.set_begins[set]),
                    .words = tree.set_begins[set + 1] - tree.set_begins[set],
                    .is_set = true,
                    .default_left = node.default_left};
  }
  if (flat.categorical) sets_.resize(nodes_.size());
  trees_.push_back(flat);
}

void FlatTrees::Fill(const SparseRows& block, size_t begin, size_t end,
                     std::span<double> rows) const {
  double* row = rows.data();
  for (size_t i = begin; i < end; ++i, row += columns()) {
    std::ranges::copy(empty_row_, row);
    for (size_t v = block.begins[i]; v < block.begins[i + 1]; ++v) {
      const size_t feature = block.columns[v];
      if (feature + 1 >= of_feature_.size()) continue;
      for (uint32_t c = of_feature_[feature]; c < of_feature_[feature + 1]; ++c) {
        row[c] = all_columns_[c].Of(block.values[v]);
      }
    }
  }
}

uint32_t FlatTrees::DescendSlowly(const ForestTree& tree, const double* row) const {
  const ForestNode* const nodes = nodes_.data() + tree.begin;
  const ForestSet* const sets = sets_.data() + tree.begin;
  uint32_t at = 0;
  while (true) {
    const ForestNode& node = nodes[at];
    if (node.IsLeaf(at)) return at;
    const double value = row[node.column];
    if (sets[at].is_set) {
      at = node.left + (sets[at].GoesLeft(value, set_words_.data()) ? 0 : 1);
    } else {
      at = node.Next(value);
    }
  }
}

// take(row, place) for each row and the place of its leaf.
template <typename Take>
void FlatTrees::Descend(size_t tree, std::span<const double> rows, std::span<const uint32_t> which,
                        const Take& take) const {
  const ForestTree& flat = trees_[tree];
  size_t i = 0;
  if (!flat.categorical) {
    const ForestNode* const nodes = nodes_.data() + flat.begin;
    for (; i + kLanes <= which.size(); i += kLanes) {
      const double* row[kLanes];
      uint32_t at[kLanes] = {};
      for (size_t lane = 0; lane < kLanes; ++lane) {
        row[lane] = rows.data() + which[i + lane] * columns();
      }
      bool moved = true;
      while (moved) {
        for (int step = 0; step < 3; ++step) {
          for (size_t lane = 0; lane < kLanes; ++lane) {
            const ForestNode& node = nodes[at[lane]];
            at[lane] = node.Next(row[lane][node.column]);
          }
        }
        moved = false;
        for (size_t lane = 0; lane < kLanes; ++lane) moved |= !nodes[at[lane]].IsLeaf(at[lane]);
      }
      for (size_t lane = 0; lane < kLanes; ++lane) take(which[i + lane], flat.begin + at[lane]);
    }
    for (; i < which.size(); ++i) {
      const double* const row = rows.data() + which[i] * columns();
      uint32_t at = 0;
      while (!nodes[at].IsLeaf(at)) at = nodes[at].Next(row[nodes[at].column]);
      take(which[i], flat.begin + at);
    }
    return;
  }
  for (; i < which.size(); ++i) {
    take(which[i], flat.begin + DescendSlowly(flat, rows.data() + which[i] * columns()));
  }
}

void FlatTrees::AddScores(size_t tree, std::span<const double> rows,
                          std::span<const uint32_t> which, double* scores, size_t stride) const {
  Descend(tree, rows, which,
          [&](uint32_t row, size_t place) { scores[row * stride] += values_[place]; });
}

void FlatTrees::Leaves(size_t tree, std::span<const double> rows, std::span<const uint32_t> which,
                       uint32_t* leaves, size_t stride) const {
  Descend(tree, rows, which,
          [&](uint32_t row, size_t place) { leaves[row * stride] = leaves_[place]; });
}

}  // namespace strata
