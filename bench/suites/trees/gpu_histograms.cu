#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>

#include "bench/harness/gpu_buffer.cuh"
#include "bench/harness/gpu_time.cuh"
#include "bench/kernels/article_histogram.cuh"
#include "bench/kernels/packed_rows.h"
#include "bench/suites/trees/gpu_histograms.h"
#include "kernels/tree/bins/bin_matrix.h"
#include "kernels/tree/grow/gpu_trees.h"

namespace strata::bench {
namespace {

constexpr size_t kRows = 10'000'000;
constexpr size_t kFeatures = 28;
constexpr size_t kLeaves = 32;  // of the deeper level
constexpr uint64_t kSeed = 5;
constexpr int kTrees = 5;  // of which the median counts

// Billions of rows a second of the two levels.
struct Rates {
  double first = 0;
  double deeper = 0;
};

// The article's kernel on a level, once its sums are those of the plain histogram.
class ArticleLevel {
 public:
  Status Put(const PackedRows& rows) {
    STRATA_TRY(Copy(rows.words, &words_));
    STRATA_TRY(Copy(rows.begins, &begins_));
    STRATA_TRY(Copy(rows.gradients, &gradients_));
    STRATA_TRY(Copy(rows.weights, &weights_));
    if (!rows.list.empty()) STRATA_TRY(Copy(rows.list, &list_));
    uint32_t largest = 0;
    for (size_t leaf = 0; leaf < rows.leaves(); ++leaf) {
      largest = std::max(largest, rows.begins[leaf + 1] - rows.begins[leaf]);
    }
    level_ = {.words = words_.data(),
              .list = list_.data(),
              .begins = begins_.data(),
              .gradients = gradients_.data(),
              .weights = weights_.data(),
              .rows = rows.rows,
              .words_of_row = static_cast<uint32_t>(rows.words_of_row()),
              .leaves = static_cast<uint32_t>(rows.leaves()),
              .rows_of_leaf = largest,
              .bins = rows.shape.bins};
    listed_ = static_cast<double>(rows.listed());
    plain_ = rows.PlainHistogram();
    return sums_.Make(plain_.size());
  }

  // Billions of rows a second.
  Result<double> Rate(ArticleKernel kernel) {
    std::vector<float> found(plain_.size());
    STRATA_TRY(sums_.Set(found));
    AddArticleHistogram(kernel, level_, sums_.data(), nullptr);
    STRATA_TRY(sums_.Get(&found));
    if (!std::ranges::equal(found, plain_)) {
      return Failed(
          fmt::format("sums of {} bins are not those of the plain histogram", level_.bins));
    }
    STRATA_ASSIGN(const double seconds, SecondsOf([&](int) {
                    AddArticleHistogram(kernel, level_, sums_.data(), nullptr);
                  }));
    return listed_ / seconds / 1e9;
  }

 private:
  template <typename T>
  static Status Copy(const std::vector<T>& values, GpuBuffer<T>* buffer) {
    STRATA_TRY(buffer->Make(values.size()));
    return buffer->Set(values);
  }

  GpuBuffer<uint32_t> words_, list_, begins_;
  GpuBuffer<float> gradients_, weights_, sums_;
  LevelRows level_ = {};
  double listed_ = 0;
  std::vector<double> plain_;
};

// Ours, as trees are grown: milliseconds of histograms, and the rows that are added to them.
struct Grown {
  double ms = 0;
  double rows = 0;
};

Result<Grown> GrowOurs(const BinMatrix& bins, const FixedGradients& gradients,
                       std::span<const uint32_t> all_rows, size_t depth) {
  GpuTreeOptions options;
  options.num_leaves = size_t{1} << depth;
  options.max_depth = depth;
  options.policy = GrowPolicy::kDepthWise;
  options.rules.min_data_in_leaf = static_cast<int64_t>(kRows >> (depth + 2));
  options.rules.min_sum_hessian_in_leaf = 0;
  const int device[] = {0};
  const std::vector<FeatureShape> shapes(kFeatures, FeatureShape{bins.bins(0)});
  STRATA_ASSIGN(const std::unique_ptr<GpuTrees> trees,
                GpuTrees::Open(device, bins, shapes, options));
  STRATA_TRY(trees->SetGradients(gradients, {.gradient = 1.0 / 8, .hessian = 1}, all_rows));
  trees->TimePhases(true);
  const std::vector<uint8_t> used(kFeatures, 1);
  std::vector<double> ms;
  GrownTree tree;
  for (int i = 0; i < kTrees; ++i) {
    STRATA_TRY(trees->Grow(used, 0, &tree).status());
    ms.push_back(trees->times().histogram);
  }
  std::ranges::sort(ms);
  Grown grown{.ms = ms[kTrees / 2], .rows = static_cast<double>(kRows)};
  const auto rows_of = [&](int32_t at) {
    return at >= 0 ? tree.nodes[static_cast<size_t>(at)].leaf.rows
                   : tree.leaves[static_cast<size_t>(~at)].leaf.rows;
  };
  for (const GrownNode& node : tree.nodes) {
    if (node.left < 0 && node.right < 0) continue;  // nothing is searched in either child
    grown.rows += static_cast<double>(std::min(rows_of(node.left), rows_of(node.right)));
  }
  return grown;
}

Result<Rates> RateOfOurs(const PackedRows& rows, uint32_t bins) {
  BinMatrix matrix(kRows, std::vector<uint32_t>(kFeatures, bins));
  std::vector<uint32_t> of_row(kFeatures);
  std::vector<uint32_t> gradients;
  for (size_t row = 0; row < kRows; ++row) {
    for (size_t f = 0; f < kFeatures; ++f) of_row[f] = rows.BinOf(row, f);
    matrix.SetRow(row, of_row);
    gradients.push_back(PackRow16(static_cast<int32_t>(8 * rows.gradients[row]),
                                  static_cast<int32_t>(rows.weights[row])));
  }
  std::vector<uint32_t> all(kRows);
  std::iota(all.begin(), all.end(), 0U);
  const FixedGradients fixed{.rows16 = gradients, .rows32 = {}};
  STRATA_ASSIGN(const Grown root, GrowOurs(matrix, fixed, all, 1));
  STRATA_ASSIGN(const Grown whole, GrowOurs(matrix, fixed, all, 6));
  return Rates{.first = root.rows / root.ms / 1e6,
               .deeper = (whole.rows - root.rows) / (whole.ms - root.ms) / 1e6};
}

Result<std::vector<Figure>> RunHistograms(uint32_t bins) {
  const PackedRows all = MakePackedRows(bins, kRows, kFeatures, 1, kSeed);
  STRATA_ASSIGN(const Rates ours, RateOfOurs(all, bins));
  STRATA_ASSIGN(const double bandwidth, CopyBandwidth());
  std::vector<Figure> figures;
  const auto add = [&](const char* level, const char* kernel, double rate, double row_bytes) {
    figures.push_back({.name = fmt::format("histogram {} x {}, {} bins, {}: {}", kRows, kFeatures,
                                           bins, level, kernel),
                       .unit = "G rows/s",
                       .ours = rate,
                       .limit = bandwidth / row_bytes / 1e9,
                       .bytes = row_bytes});
  };
  const auto level_of = [](size_t leaves) {
    return leaves == 1 ? std::string("first level") : fmt::format("{} leaves", leaves);
  };
  // Bins of a byte and a gradient of 16 + 16 bits; deeper, the row's number.
  add(level_of(1).c_str(), "kernels/tree/histogram", ours.first, kFeatures + 4);
  add("deeper levels", "kernels/tree/histogram", ours.deeper, kFeatures + 4 + 4);
  for (const size_t leaves : {size_t{1}, kLeaves}) {
    ArticleLevel level;
    STRATA_TRY(
        level.Put(leaves == 1 ? all : MakePackedRows(bins, kRows, kFeatures, leaves, kSeed)));
    const double row_bytes = static_cast<double>(all.words_of_row() * 4 + 8 + (leaves > 1 ? 4 : 0));
    for (const ArticleKernel kernel : {ArticleKernel::kSlices, ArticleKernel::kAtomics}) {
      STRATA_ASSIGN(const double rate, level.Rate(kernel));
      add(level_of(leaves).c_str(),
          kernel == ArticleKernel::kSlices ? "the article's, 384 threads"
                                           : "the article's, 768 threads with atomics",
          rate, row_bytes);
      figures.back().peer = "kernels/tree/histogram";
      figures.back().peer_value = leaves == 1 ? ours.first : ours.deeper;
    }
  }
  return figures;
}

}  // namespace

void AddGpuHistograms(std::vector<Case>* cases) {
  for (const uint32_t bins : {15U, 32U, 64U, 128U, 255U}) {
    cases->push_back({fmt::format("histogram, {} bins", bins),
                      [bins](const BenchOptions&) { return RunHistograms(bins); }});
  }
}

}  // namespace strata::bench
