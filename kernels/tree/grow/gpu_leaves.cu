#include <algorithm>

#include "kernels/tree/grow/gpu_leaves.h"
#include "kernels/tree/grow/gpu_part.cuh"

namespace strata {

namespace gpu_tree {
namespace {

constexpr size_t kLeavesAtOnce = 16;

// What kernels of a step are asked for: nodes as they find them, and which of them.
struct Request {
  TreeState state;
  std::vector<TreeNode> nodes;
  std::vector<uint32_t> sets;  // node * words + word
};

class Leaves : public GpuLeaves {
 public:
  Leaves(int device, const BinMatrix& bins) : bins_(bins), part_(device, 0, 1, Options()) {}

  Status Start(std::span<const FeatureShape> shapes) {
    STRATA_TRY(part_.Start(bins_, {.begin = 0, .count = bins_.rows()}, shapes));
    return histograms_.Make(kLeavesAtOnce * part_.bins().histogram_size(),
                            "histograms on their way from the GPU");
  }

  Result<GradientSums> Start(std::span<const uint32_t> bag, const FixedGradients& by_row) override {
    STRATA_TRY(
        part_.StartGradients(by_row.rows16.empty() ? GradientWidth::k32 : GradientWidth::k16));
    STRATA_TRY(part_.SetGradients(by_row, {}, bag));
    STRATA_TRY(Fetch());
    rows_ = bag.size();
    sides_.assign(bag.size() + 1, 0);  // an empty leaf may begin at the end
    return GradientSums{static_cast<int64_t>(part_.fetched().state.root_gradient),
                        static_cast<int64_t>(part_.fetched().state.root_hessian)};
  }

  Status Split(std::span<const LeafSplit> leaves, std::span<int64_t> left) override {
    for (size_t begin = 0; begin < leaves.size(); begin += kLeavesAtOnce) {
      const size_t count = std::min(kLeavesAtOnce, leaves.size() - begin);
      STRATA_TRY(SplitSome(leaves.subspan(begin, count), left.subspan(begin, count)));
    }
    return {};
  }

  Status Build(std::span<const LeafHistogram> leaves) override {
    for (size_t begin = 0; begin < leaves.size(); begin += kLeavesAtOnce) {
      const size_t count = std::min(kLeavesAtOnce, leaves.size() - begin);
      STRATA_TRY(BuildSome(leaves.subspan(begin, count)));
    }
    return {};
  }

  Status Fetch(std::span<const LeafPlace> leaves, std::vector<uint32_t>* rows) override {
    std::vector<uint32_t> sides[2];
    STRATA_TRY(part_.FetchRows(sides));
    rows->resize(rows_);
    for (const LeafPlace& leaf : leaves) {
      if (leaf.count == 0) continue;
      const uint32_t* const from = sides[sides_[leaf.begin]].data() + leaf.begin;
      std::copy_n(from, leaf.count, rows->data() + leaf.begin);
    }
    return {};
  }

 private:
  // Of the rules none matters: the host knows which leaves can be split.
  static GpuTreeOptions Options() {
    GpuTreeOptions options;
    options.num_leaves = 2 * kLeavesAtOnce;
    options.rules.min_data_in_leaf = 0;
    return options;
  }

  Status Fetch() {
    STRATA_TRY(part_.Fetch());
    STRATA_TRY(part_.Wait("rows of leaves on a GPU"));
    return part_.CheckFetched();
  }

  Request RequestOf(size_t leaves, size_t nodes) {
    Request request;
    request.state = part_.fetched().state;
    request.state.chosen_count = static_cast<int32_t>(leaves);
    request.state.node_count = static_cast<int32_t>(nodes);
    request.nodes.resize(nodes);
    request.sets.resize(nodes * part_.bins().set_words(), 0);
    return request;
  }

  TreeNode NodeOf(const LeafPlace& leaf) const {
    TreeNode node;
    node.anchor = static_cast<uint32_t>(leaf.begin);
    node.count = static_cast<uint32_t>(leaf.count);
    node.side = sides_[leaf.begin];
    return node;
  }

  // Parents, and behind them the children of each.
  Status SplitSome(std::span<const LeafSplit> leaves, std::span<int64_t> left) {
    const size_t count = leaves.size();
    const uint32_t words = part_.bins().set_words();
    Request request = RequestOf(count, 3 * count);
    for (size_t i = 0; i < count; ++i) {
      const strata::Split& split = *leaves[i].split;
      TreeNode& parent = request.nodes[i];
      parent = NodeOf(leaves[i].leaf);
      parent.best.feature = split.feature;
      parent.best.threshold = split.threshold;
      parent.best.default_left = split.default_left;
      parent.best.categorical = split.categorical;
      for (const uint32_t bin : split.left_bins) {
        request.sets[i * words + bin / 32] |= 1U << (bin % 32);
      }
      const size_t children = count + 2 * i;
      request.nodes[children].anchor = parent.anchor;
      request.nodes[children + 1].anchor = parent.anchor + parent.count;
      request.state.chosen[i] = {.parent = static_cast<int32_t>(i),
                                 .children = static_cast<int32_t>(children),
                                 .parent_slot = -1,
                                 .new_slot = static_cast<int32_t>(i)};
    }
    STRATA_TRY(part_.Put(request.state, request.nodes, request.sets));
    part_.Partition();
    STRATA_TRY(Fetch());
    for (size_t i = 0; i < count; ++i) {
      const LeafPlace& leaf = leaves[i].leaf;
      const uint32_t lefts = part_.fetched().nodes[count + 2 * i].count;
      left[i] = lefts;
      if (leaf.count == 0) continue;  // the place is that of the next leaf, which stays where it is
      const auto side = static_cast<uint8_t>(1 - sides_[leaf.begin]);
      sides_[leaf.begin] = side;
      if (lefts < leaf.count) sides_[leaf.begin + lefts] = side;
    }
    return {};
  }

  // Each as the kernels see a root: alone.
  Status BuildSome(std::span<const LeafHistogram> leaves) {
    Request request = RequestOf(leaves.size(), leaves.size());
    for (size_t i = 0; i < leaves.size(); ++i) {
      request.nodes[i] = NodeOf(leaves[i].leaf);
      request.state.chosen[i] = {.parent = -1,
                                 .children = static_cast<int32_t>(i),
                                 .parent_slot = -1,
                                 .new_slot = static_cast<int32_t>(i)};
    }
    STRATA_TRY(part_.Put(request.state, request.nodes, request.sets));
    STRATA_TRY(part_.ClearHistograms(leaves.size()));
    part_.Histograms();
    const size_t size = part_.bins().histogram_size();
    STRATA_TRY(part_.GetHistograms(histograms_.values().first(leaves.size() * size)));
    STRATA_TRY(part_.Wait("histograms on a GPU"));
    for (size_t i = 0; i < leaves.size(); ++i) {
      Rearrange(histograms_.values().subspan(i * size, size), leaves[i].histogram);
    }
    return {};
  }

  // From the GPU's order of features and bins to the host's.
  void Rearrange(std::span<const GradientSums> from, std::span<GradientSums> to) const {
    for (size_t f = 0; f < bins_.features(); ++f) {
      const FeatureView& feature = part_.bins().features()[f];
      for (uint32_t bin = 0; bin < bins_.bins(f); ++bin) {
        to[bins_.histogram_begin(f) + bin] =
            from[feature.histogram + uint64_t{bin} * feature.histogram_stride];
      }
    }
  }

  const BinMatrix& bins_;
  GpuPart part_;
  PinnedMemory<GradientSums> histograms_;
  size_t rows_ = 0;
  std::vector<uint8_t> sides_;  // by the first place of a leaf: which buffer it is in
};

}  // namespace
}  // namespace gpu_tree

Result<std::unique_ptr<GpuLeaves>> GpuLeaves::Open(int device, const BinMatrix& bins,
                                                   std::span<const FeatureShape> shapes) {
  STRATA_TRY(CheckDevice(device));
  auto leaves = std::make_unique<gpu_tree::Leaves>(device, bins);
  STRATA_TRY(leaves->Start(shapes));
  return std::unique_ptr<GpuLeaves>(std::move(leaves));
}

size_t GpuLeaves::Devices() {
  const Result<int> devices = CountGpus();
  return devices.ok() ? static_cast<size_t>(*devices) : 0;
}

}  // namespace strata
