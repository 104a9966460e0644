#include "worker/gbdt/predict/contributions.h"

#include <fmt/format.h>

#include <algorithm>

namespace strata {
namespace {

constexpr size_t kDepthMax = 1024;

}  // namespace

double TreeContributions::CoverOf(int32_t at) const {
  if (at < 0) {
    const TreeLeaf& leaf = tree_->leaves[static_cast<size_t>(~at)];
    return by_rows_ ? static_cast<double>(leaf.rows) : leaf.weight;
  }
  const TreeNode& node = tree_->nodes[static_cast<size_t>(at)];
  return by_rows_ ? static_cast<double>(node.rows) : node.weight;
}

Result<TreeContributions> TreeContributions::Make(const Tree& tree) {
  TreeContributions made(tree);
  made.depth_ = tree.Depth();
  if (made.depth_ > kDepthMax) {
    return Invalid(fmt::format("contributions of a tree of depth {}: at most {} is supported",
                               made.depth_, kDepthMax));
  }
  if (tree.nodes.empty()) {
    made.expected_ = tree.leaves[0].value;
    return made;
  }
  made.by_rows_ = std::ranges::any_of(tree.nodes, [](const TreeNode& n) { return n.rows != 0; });
  for (size_t i = 0; i < tree.nodes.size(); ++i) {
    if (made.CoverOf(static_cast<int32_t>(i)) > 0) continue;
    return Invalid(
        fmt::format("contributions need the number of rows of each node (internal_count, "
                    "leaf_count): node {} has none",
                    i));
  }
  for (size_t i = 0; i < tree.leaves.size(); ++i) {
    const double cover = made.CoverOf(~static_cast<int32_t>(i));
    if (!(cover >= 0)) return Invalid(fmt::format("leaf {} has {} rows", i, cover));
    made.expected_ += cover / made.CoverOf(0) * tree.leaves[i].value;
  }
  return made;
}

// One feature more on the way: subsets with and without it.
void TreeContributions::Extend(Step* steps, size_t length, const Step& last) {
  steps[length] = last;
  steps[length].weight = length == 0 ? 1 : 0;
  const auto size = static_cast<double>(length + 1);
  for (size_t i = length; i-- > 0;) {
    const auto place = static_cast<double>(i);
    steps[i + 1].weight += last.one * steps[i].weight * (place + 1) / size;
    steps[i].weight *= last.zero * (size - 1 - place) / size;
  }
}

// Takes the feature at `place` of `length` steps away again.
void TreeContributions::Unwind(Step* steps, size_t length, size_t place) {
  const Step taken = steps[place];
  const auto size = static_cast<double>(length);
  double next = steps[length - 1].weight;
  for (size_t i = length - 1; i-- > 0;) {
    const auto at = static_cast<double>(i);
    if (taken.one != 0) {
      const double before = steps[i].weight;
      steps[i].weight = next * size / ((at + 1) * taken.one);
      next = before - steps[i].weight * taken.zero * (size - 1 - at) / size;
    } else {
      steps[i].weight = steps[i].weight * size / (taken.zero * (size - 1 - at));
    }
  }
  for (size_t i = place; i + 1 < length; ++i) {
    steps[i].feature = steps[i + 1].feature;
    steps[i].zero = steps[i + 1].zero;
    steps[i].one = steps[i + 1].one;
  }
}

// The sum of weights that Unwind would leave.
double TreeContributions::UnwoundSum(const Step* steps, size_t length, size_t place) {
  const Step& taken = steps[place];
  const auto size = static_cast<double>(length);
  double next = steps[length - 1].weight;
  double sum = 0;
  for (size_t i = length - 1; i-- > 0;) {
    const auto at = static_cast<double>(i);
    if (taken.one != 0) {
      const double weight = next * size / ((at + 1) * taken.one);
      sum += weight;
      next = steps[i].weight - weight * taken.zero * (size - 1 - at) / size;
    } else if (taken.zero != 0) {
      sum += steps[i].weight * size / (taken.zero * (size - 1 - at));
    }
  }
  return sum;
}

void TreeContributions::Visit(int32_t at, std::span<const double> row, std::span<double> out,
                              Step* parent, size_t length, const Step& last) const {
  // Its own copy, behind the parent's: siblings start from the same steps.
  Step* const steps = parent + length;
  std::copy(parent, parent + length, steps);
  Extend(steps, length, last);
  ++length;
  if (at < 0) {
    const double value = tree_->leaves[static_cast<size_t>(~at)].value;
    for (size_t i = 1; i < length; ++i) {
      const Step& step = steps[i];
      out[static_cast<size_t>(step.feature)] +=
          UnwoundSum(steps, length, i) * (step.one - step.zero) * value;
    }
    return;
  }
  const TreeNode& node = tree_->nodes[static_cast<size_t>(at)];
  const bool left = tree_->GoesLeft(node, row[static_cast<size_t>(node.feature)]);
  double zero = 1;
  double one = 1;
  for (size_t i = 1; i < length; ++i) {
    if (steps[i].feature != node.feature) continue;
    zero = steps[i].zero;
    one = steps[i].one;
    Unwind(steps, length, i);
    --length;
    break;
  }
  const double cover = CoverOf(at);
  for (const bool hot : {true, false}) {
    const int32_t child = hot == left ? node.left : node.right;
    Visit(child, row, out, steps, length,
          {.feature = node.feature,
           .zero = zero * CoverOf(child) / cover,
           .one = hot ? one : 0,
           .weight = 0});
  }
}

void TreeContributions::Add(std::span<const double> row, std::span<double> out) const {
  out.back() += expected_;
  if (tree_->nodes.empty()) return;
  // Each level has one step more than the one above it.
  std::vector<Step> steps((depth_ + 2) * (depth_ + 3) / 2);
  Visit(0, row, out, steps.data(), 0, {.feature = -1, .zero = 1, .one = 1, .weight = 1});
}

}  // namespace strata
