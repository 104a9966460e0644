// Softmax over classes, and one binary objective a class.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kernels/core/math.h"
#include "kernels/tree/gradient/losses.h"
#include "worker/gbdt/objective/factories.h"
#include "worker/gbdt/objective/side_weights.h"

namespace strata {
namespace {

constexpr size_t kPieceRows = 8192;
constexpr double kLeastShare = 1e-15F;  // of a class, for logarithms; LightGBM's float

class Multiclass : public TreeObjective {
 public:
  Multiclass(const ObjectiveParameters& p, const TreeDataset& data)
      : data_(data),
        classes_(static_cast<size_t>(p.num_class)),
        one_vs_all_(p.name == "multiclassova"),
        sigmoid_(p.sigmoid) {
    if (one_vs_all_) FindSideWeights(p);
    std::vector<double> weights(data.rows(), 1);
    std::ranges::copy(data.weights, weights.begin());
    const double all = data.share.Total(weights);
    for (size_t k = 0; k < classes_; ++k) {
      std::vector<double> own = weights;
      for (size_t row = 0; row < own.size(); ++row) {
        if (static_cast<size_t>(data.labels[row]) != k) own[row] = 0;
      }
      shares_.push_back(data.share.Total(own) / all);
    }
  }

  std::string ModelText() const override {
    if (one_vs_all_) {
      return fmt::format("multiclassova num_class:{} sigmoid:{:g}", classes_, sigmoid_);
    }
    return fmt::format("multiclass num_class:{}", classes_);
  }
  size_t classes() const override { return classes_; }

  double StartScore(size_t k) const override {
    if (one_vs_all_) {
      const double share = std::clamp(shares_[k], kLeastShare, 1 - kLeastShare);
      return math::Log(share / (1 - share)) / sigmoid_;
    }
    return math::Log(std::max(kLeastShare, shares_[k]));
  }

  bool NeedsTrees(size_t k) const override {
    return shares_[k] > kLeastShare && shares_[k] < 1 - kLeastShare;
  }

  std::optional<OwnLoss> own_loss() const override {
    const GpuLoss loss =
        one_vs_all_ ? GpuLoss(OneVsAll()) : GpuLoss(loss::Softmax{static_cast<uint32_t>(classes_)});
    return OwnLoss{.loss = loss, .labels = data_.labels};
  }

  void Gradients(std::span<const double> scores, uint64_t /*round*/, WorkPool& pool,
                 std::span<float> gradients, std::span<float> hessians) const override {
    const size_t rows = data_.rows();
    const loss::OneVsAll one_vs_all = OneVsAll();
    pool.RunPieces(rows, kPieceRows, [&](size_t begin, size_t end) {
      std::vector<double> row_scores(classes_);
      std::vector<LossSlope> slopes(classes_);
      for (size_t row = begin; row < end; ++row) {
        const auto label = static_cast<size_t>(data_.labels[row]);
        const double weight = data_.weights.empty() ? 1 : data_.weights[row];
        for (size_t k = 0; k < classes_; ++k) row_scores[k] = scores[k * rows + row];
        if (one_vs_all_) {
          for (uint32_t k = 0; k < classes_; ++k) {
            slopes[k] = one_vs_all(row_scores[k], k == label, k);
          }
        } else {
          Softmax(label, &row_scores, &slopes);
        }
        for (size_t k = 0; k < classes_; ++k) {
          gradients[k * rows + row] = static_cast<float>(slopes[k].gradient * weight);
          hessians[k * rows + row] = static_cast<float>(slopes[k].hessian * weight);
        }
      }
    });
  }

 private:
  // Of each class against all others, by how many rows have it.
  void FindSideWeights(const ObjectiveParameters& p) {
    std::vector<int64_t> counts(classes_, 0);
    for (const float label : data_.labels) ++counts[static_cast<size_t>(label)];
    data_.share.Sum(counts);
    for (const int64_t count : counts) {
      side_weights_.push_back(
          SideWeightsOf(p, static_cast<double>(count), static_cast<double>(data_.all_rows())));
    }
  }

  loss::OneVsAll OneVsAll() const {
    return {.classes = static_cast<uint32_t>(classes_),
            .sigmoid = sigmoid_,
            .weights = side_weights_.data()};
  }

  void Softmax(size_t label, std::vector<double>* scores, std::vector<LossSlope>* slopes) const {
    const loss::Softmax softmax{static_cast<uint32_t>(classes_)};
    const double largest = *std::ranges::max_element(*scores);
    double sum = 0;
    for (double& score : *scores) sum += score = math::Exp(score - largest);
    for (size_t k = 0; k < classes_; ++k) (*slopes)[k] = softmax((*scores)[k] / sum, k == label);
  }

  const TreeDataset& data_;
  const size_t classes_;
  const bool one_vs_all_;
  const double sigmoid_;
  std::vector<loss::SideWeights> side_weights_;  // of each class, one against all
  std::vector<double> shares_;                   // of each class, by weight
};

}  // namespace

Result<std::unique_ptr<TreeObjective>> MakeMulticlassObjective(const ObjectiveParameters& p,
                                                               const TreeDataset& data) {
  const auto is_class = [classes = static_cast<float>(p.num_class)](float label) {
    return label >= 0 && label < classes && label == std::floor(label);
  };
  STRATA_TRY(data.CheckLabels(
      is_class, fmt::format("objective = {} needs whole labels from 0 to {} (num_class - 1)",
                            p.name, p.num_class - 1)));
  return std::unique_ptr<TreeObjective>(std::make_unique<Multiclass>(p, data));
}

}  // namespace strata
