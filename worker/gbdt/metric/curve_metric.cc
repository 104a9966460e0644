// Areas under curves over thresholds of the score; equal scores are one threshold.
#include <algorithm>
#include <span>
#include <vector>

#include "kernels/tree/gradient/exact_units.h"
#include "kernels/tree/metric/score_curve.h"
#include "worker/gbdt/metric/factories.h"

namespace strata {
namespace {

struct ScoredRow {
  double score = 0;
  float label = 0;  // above 0: positive
  float weight = 1;
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

// Of each score, from the highest one down; begins with none. Reorders the rows.
std::vector<CurvePoint> CurveOf(std::vector<ScoredRow>* rows, WorkPool& pool) {
  SortByScore(rows, pool);
  double largest = 0;
  for (const ScoredRow& row : *rows) largest = std::max<double>(largest, row.weight);
  const ExactUnits weights = ExactUnits::For(largest, rows->size());
  std::vector<CurvePoint> curve(1);
  for (size_t i = 0; i < rows->size(); ++i) {
    const ScoredRow& row = (*rows)[i];
    if (i == 0 || row.score != (*rows)[i - 1].score) curve.push_back(curve.back());
    (row.label > 0 ? curve.back().positive : curve.back().negative) += weights.Of(row.weight);
  }
  return curve;
}

double AreaUnder(CurveArea area, std::vector<ScoredRow>* rows, WorkPool& pool) {
  const std::vector<CurvePoint> curve = CurveOf(rows, pool);
  const CurvePoint& all = curve.back();
  WideArea twice = 0;
  int64_t precision = 0;
  for (size_t i = 1; i < curve.size(); ++i) {
    if (area == CurveArea::kRoc) {
      twice += RocArea(curve[i - 1], curve[i]);
    } else {
      precision += PrecisionArea(curve[i - 1], curve[i], all.positive);
    }
  }
  return area == CurveArea::kRoc ? RocAreaOf(twice, all) : PrecisionAreaOf(precision, all);
}

class CurveMetric : public TreeMetric {
 public:
  CurveMetric(const TreeDataset& data, WorkPool& pool, std::string name, CurveArea area)
      : data_(data), pool_(pool), name_(std::move(name)), area_(area) {}

  std::vector<MetricValue> Evaluate(std::span<const double> scores) const override {
    std::vector<ScoredRow> rows(data_.rows());
    for (size_t row = 0; row < rows.size(); ++row) {
      rows[row] = {.score = scores[row],
                   .label = data_.labels[row],
                   .weight = data_.weights.empty() ? 1 : data_.weights[row]};
    }
    const double value = data_.share.Compute<ScoredRow>(
        std::span(&rows, 1), [this](size_t /*list*/, std::vector<ScoredRow>& all) {
          return AreaUnder(area_, &all, pool_);
        })[0];
    return {{.name = name_, .value = value, .higher_is_better = true}};
  }

  Status MoveToGpu(GpuMetrics* gpu) override { return gpu->ReserveForCurves(); }
  Result<std::vector<MetricValue>> EvaluateOnGpu(GpuMetrics& gpu,
                                                 const double* scores) const override {
    STRATA_ASSIGN(const double value, gpu.AreaUnder(area_, scores));
    return std::vector<MetricValue>{{.name = name_, .value = value, .higher_is_better = true}};
  }

 private:
  const TreeDataset& data_;
  WorkPool& pool_;
  const std::string name_;
  const CurveArea area_;
};

// What mistakes cost, class * classes + the class that it is taken for; empty: all the same.
class MistakeCosts {
 public:
  MistakeCosts(std::vector<double> costs, size_t classes)
      : costs_(std::move(costs)), classes_(classes) {}

  bool are_alike() const { return costs_.empty(); }

  // What the scores of a row count in how far it is on the side of class i, not of class j.
  std::vector<double> Direction(size_t i, size_t j) const {
    std::vector<double> direction(classes_, 0);
    for (size_t k = 0; k < classes_; ++k) direction[k] = Of(i, k) - Of(j, k);
    const double sign = direction[i] - direction[j];
    for (double& part : direction) part *= sign;
    return direction;
  }

 private:
  double Of(size_t of, size_t taken_for) const {
    return of == taken_for ? 0 : costs_[of * classes_ + taken_for];
  }

  const std::vector<double> costs_;
  const size_t classes_;
};

// The mean over pairs of classes of the area by how far rows are on the side of each (R. Kleiman
// and D. Page, "AUC-mu", ICML 2019); by the difference of their scores, if mistakes are all alike.
class AucMu : public TreeMetric {
 public:
  AucMu(const TreeDataset& data, WorkPool& pool, int64_t classes, std::vector<double> weights)
      : data_(data),
        pool_(pool),
        classes_(static_cast<size_t>(classes)),
        costs_(std::move(weights), classes_) {}

  std::vector<MetricValue> Evaluate(std::span<const double> scores) const override {
    const size_t rows = data_.rows();
    double sum = 0;
    for (size_t i = 0; i + 1 < classes_; ++i) {
      std::vector<std::vector<ScoredRow>> pairs(classes_ - 1 - i);  // of i with each class after
      const std::vector<std::vector<double>> directions = DirectionsFrom(i);
      for (size_t row = 0; row < rows; ++row) {
        const auto label = static_cast<size_t>(data_.labels[row]);
        if (label < i) continue;
        const float weight = data_.weights.empty() ? 1 : data_.weights[row];
        const auto add = [&](size_t j) {
          const double apart = costs_.are_alike() ? scores[i * rows + row] - scores[j * rows + row]
                                                  : ScoreAlong(directions[j - i - 1], scores, row);
          pairs[j - i - 1].push_back(
              {.score = apart, .label = label == i ? 1.0F : 0.0F, .weight = weight});
        };
        if (label > i) add(label);
        for (size_t j = i + 1; label == i && j < classes_; ++j) add(j);
      }
      for (const double area : data_.share.Compute<ScoredRow>(
               pairs, [this](size_t /*list*/, std::vector<ScoredRow>& all) {
                 return AreaUnder(CurveArea::kRoc, &all, pool_);
               })) {
        sum += area;
      }
    }
    return ValueOf(sum);
  }

  Status MoveToGpu(GpuMetrics* gpu) override {
    if (!costs_.are_alike()) return Refused("auc_mu_weights are not known on a GPU");
    of_classes_.assign(classes_, {});
    for (size_t row = 0; row < data_.rows(); ++row) {
      OfClass& own = of_classes_[static_cast<size_t>(data_.labels[row])];
      ++own.rows;
      own.largest_weight =
          std::max<double>(own.largest_weight, data_.weights.empty() ? 1 : data_.weights[row]);
    }
    return gpu->ReserveForCurves();
  }
  Result<std::vector<MetricValue>> EvaluateOnGpu(GpuMetrics& gpu,
                                                 const double* scores) const override {
    double sum = 0;
    for (uint32_t i = 0; i + 1 < classes_; ++i) {
      for (uint32_t j = i + 1; j < classes_; ++j) {
        const OfClass& first = of_classes_[i];
        const OfClass& second = of_classes_[j];
        const ClassPair pair{
            .first = i,
            .second = j,
            .rows = first.rows + second.rows,
            .largest_weight = std::max(first.largest_weight, second.largest_weight)};
        STRATA_ASSIGN(const double area, gpu.RocAreaOfClasses(pair, scores));
        sum += area;
      }
    }
    return ValueOf(sum);
  }

 private:
  struct OfClass {
    size_t rows = 0;
    double largest_weight = 0;
  };

  // Towards class i, from each class after it; none, if mistakes are all alike.
  std::vector<std::vector<double>> DirectionsFrom(size_t i) const {
    std::vector<std::vector<double>> directions;
    for (size_t j = i + 1; !costs_.are_alike() && j < classes_; ++j) {
      directions.push_back(costs_.Direction(i, j));
    }
    return directions;
  }

  double ScoreAlong(std::span<const double> direction, std::span<const double> scores,
                    size_t row) const {
    double sum = 0;
    for (size_t k = 0; k < classes_; ++k) sum += direction[k] * scores[k * data_.rows() + row];
    return sum;
  }

  std::vector<MetricValue> ValueOf(double sum) const {
    const size_t pairs = classes_ * (classes_ - 1) / 2;
    return {
        {.name = "auc_mu", .value = sum / static_cast<double>(pairs), .higher_is_better = true}};
  }

  const TreeDataset& data_;
  WorkPool& pool_;
  const size_t classes_;
  const MistakeCosts costs_;
  std::vector<OfClass> of_classes_;  // with a GPU
};

}  // namespace

std::unique_ptr<TreeMetric> MakeCurveMetric(const std::string& name, const MetricParameters& p,
                                            const ObjectiveParameters& objective,
                                            const TreeDataset& data, WorkPool& pool) {
  if (name == "auc") return std::make_unique<CurveMetric>(data, pool, name, CurveArea::kRoc);
  if (name == "average_precision") {
    return std::make_unique<CurveMetric>(data, pool, name, CurveArea::kPrecision);
  }
  if (name == "auc_mu") {
    return std::make_unique<AucMu>(data, pool, objective.num_class, p.auc_mu_weights);
  }
  return nullptr;
}

}  // namespace strata
