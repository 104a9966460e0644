// Areas under curves over thresholds of the score; equal scores are one threshold.
#include <algorithm>
#include <span>
#include <vector>

#include "worker/gbdt/metric/factories.h"

namespace strata {
namespace {

struct ScoredRow {
  double score = 0;
  float label = 0;  // above 0: positive
  float weight = 1;
};

// Weights of the rows of one score.
struct Threshold {
  double positive = 0;
  double negative = 0;
};

bool IsHigher(const ScoredRow& a, const ScoredRow& b) { return a.score > b.score; }

// The highest score first, equal ones in their order: pieces, then twice as long ones of two each.
void SortByScore(std::vector<ScoredRow>* rows, WorkPool& pool) {
  constexpr size_t kPiece = 1 << 14;
  const size_t count = rows->size();
  const auto at = [count](std::vector<ScoredRow>& of, size_t place) {
    return of.begin() + static_cast<ptrdiff_t>(std::min(place, count));
  };
  pool.RunPieces(count, kPiece, [&](size_t begin, size_t end) {
    std::stable_sort(at(*rows, begin), at(*rows, end), IsHigher);
  });
  std::vector<ScoredRow> merged(count);
  for (size_t length = kPiece; length < count; length *= 2) {
    pool.RunPieces(count, 2 * length, [&](size_t begin, size_t end) {
      const auto middle = at(*rows, begin + length);
      std::merge(at(*rows, begin), middle, middle, at(*rows, end), at(merged, begin), IsHigher);
    });
    rows->swap(merged);
  }
}

// From the highest score down. Reorders the rows.
std::vector<Threshold> ThresholdsOf(std::vector<ScoredRow>* rows, WorkPool& pool) {
  SortByScore(rows, pool);
  std::vector<Threshold> thresholds;
  for (size_t i = 0; i < rows->size(); ++i) {
    const ScoredRow& row = (*rows)[i];
    if (i == 0 || row.score != (*rows)[i - 1].score) thresholds.emplace_back();
    (row.label > 0 ? thresholds.back().positive : thresholds.back().negative) += row.weight;
  }
  return thresholds;
}

// The chance that a positive row has a higher score than a negative one; 1 where one kind is not
// there.
double AreaUnderRoc(std::vector<ScoredRow>* rows, WorkPool& pool) {
  double area = 0;
  double positives = 0;
  double negatives = 0;
  for (const Threshold& at : ThresholdsOf(rows, pool)) {
    area += at.negative * (positives + at.positive * 0.5);
    positives += at.positive;
    negatives += at.negative;
  }
  return positives > 0 && negatives > 0 ? area / (positives * negatives) : 1;
}

double AveragePrecision(std::vector<ScoredRow>* rows, WorkPool& pool) {
  double area = 0;
  double positives = 0;
  double all = 0;
  for (const Threshold& at : ThresholdsOf(rows, pool)) {
    positives += at.positive;
    all += at.positive + at.negative;
    if (at.positive > 0) area += at.positive * positives / all;
  }
  return positives > 0 ? area / positives : 1;
}

class CurveMetric : public TreeMetric {
 public:
  using Area = double (*)(std::vector<ScoredRow>*, WorkPool&);
  CurveMetric(const TreeDataset& data, WorkPool& pool, std::string name, Area area)
      : data_(data), pool_(pool), name_(std::move(name)), area_(area) {}

  std::vector<MetricValue> Evaluate(std::span<const double> scores) const override {
    std::vector<ScoredRow> rows(data_.rows());
    for (size_t row = 0; row < rows.size(); ++row) {
      rows[row] = {.score = scores[row],
                   .label = data_.labels[row],
                   .weight = data_.weights.empty() ? 1 : data_.weights[row]};
    }
    const double value = data_.share.Compute<ScoredRow>(
        std::span(&rows, 1),
        [this](size_t /*list*/, std::vector<ScoredRow>& all) { return area_(&all, pool_); })[0];
    return {{.name = name_, .value = value, .higher_is_better = true}};
  }

 private:
  const TreeDataset& data_;
  WorkPool& pool_;
  const std::string name_;
  const Area area_;
};

// The mean over pairs of classes of the area by the difference of their scores (R. Kleiman and
// D. Page, "AUC-mu", ICML 2019, all mistakes alike).
class AucMu : public TreeMetric {
 public:
  AucMu(const TreeDataset& data, WorkPool& pool, size_t classes)
      : data_(data), pool_(pool), classes_(classes) {}

  std::vector<MetricValue> Evaluate(std::span<const double> scores) const override {
    const size_t rows = data_.rows();
    double sum = 0;
    for (size_t i = 0; i + 1 < classes_; ++i) {
      std::vector<std::vector<ScoredRow>> pairs(classes_ - 1 - i);  // of i with each class behind
      for (size_t row = 0; row < rows; ++row) {
        const auto label = static_cast<size_t>(data_.labels[row]);
        if (label < i) continue;
        const float weight = data_.weights.empty() ? 1 : data_.weights[row];
        const auto add = [&](size_t j) {
          pairs[j - i - 1].push_back({.score = scores[i * rows + row] - scores[j * rows + row],
                                      .label = label == i ? 1.0F : 0.0F,
                                      .weight = weight});
        };
        if (label > i) add(label);
        for (size_t j = i + 1; label == i && j < classes_; ++j) add(j);
      }
      for (const double area : data_.share.Compute<ScoredRow>(
               pairs, [this](size_t /*list*/, std::vector<ScoredRow>& all) {
                 return AreaUnderRoc(&all, pool_);
               })) {
        sum += area;
      }
    }
    const auto number = static_cast<double>(classes_ * (classes_ - 1) / 2);
    return {{.name = "auc_mu", .value = sum / number, .higher_is_better = true}};
  }

 private:
  const TreeDataset& data_;
  WorkPool& pool_;
  const size_t classes_;
};

}  // namespace

std::unique_ptr<TreeMetric> MakeCurveMetric(const std::string& name, const TreeParameters& p,
                                            const TreeDataset& data, WorkPool& pool) {
  if (name == "auc") return std::make_unique<CurveMetric>(data, pool, name, AreaUnderRoc);
  if (name == "average_precision") {
    return std::make_unique<CurveMetric>(data, pool, name, AveragePrecision);
  }
  if (name == "auc_mu")
    return std::make_unique<AucMu>(data, pool, static_cast<size_t>(p.num_class));
  return nullptr;
}

}  // namespace strata
