#include "worker/gbdt/catboost/train/bootstrap_sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/hash.h"
#include "kernels/core/math.h"
#include "kernels/tree/gradient/fixed_point.h"
#include "worker/gbdt/catboost/train/row_sums.h"

namespace strata {
namespace {

// CatBoost finds a threshold for each so many rows, in their order.
constexpr size_t kMvsBlock = 8192;
constexpr uint64_t kSampleSequence = 0x73616d706c65;  // tells draws of rows from others

double ShareOf(const BootstrapParameters& p, size_t rows) {
  if (p.subsample.has_value()) return *p.subsample;
  if (rows < 100) return 1;
  return p.type == BootstrapType::kMvs ? 0.8F : 0.66F;
}

bool IsActive(const BootstrapParameters& p, double share) {
  if (p.type == BootstrapType::kNo) return false;
  return p.type == BootstrapType::kBayesian ? p.bagging_temperature > 0 : share < 1;
}

// The threshold t for which the sum of min(1, number / t) is `wanted`, above 0 and below their
// count. It narrows the numbers down to those that may be next to t.
double MvsThreshold(std::vector<double> numbers, double wanted) {
  double below_sum = 0;    // of numbers that are below the threshold
  double above_count = 0;  // of numbers that are not
  auto begin = numbers.begin();
  auto end = numbers.end();
  while (begin != end) {
    const double pivot = begin[(end - begin) / 2];
    const auto equal = std::partition(begin, end, [&](double n) { return n < pivot; });
    const auto above = std::partition(equal, end, [&](double n) { return n == pivot; });
    const double smaller_sum = std::accumulate(begin, equal, 0.0);
    const auto equal_count = static_cast<double>(above - equal);
    const double larger_count = static_cast<double>(end - above);
    const double count = (below_sum + smaller_sum) / pivot + equal_count + larger_count;
    if (count + above_count > wanted) {
      below_sum += smaller_sum + equal_count * pivot;
      begin = above;
    } else {
      above_count += equal_count + larger_count;
      end = equal;
    }
  }
  return below_sum / (wanted - above_count);
}

}  // namespace

// Of all outputs.
struct BootstrapSampler::RowGradients {
  std::span<const double> all;  // output * rows + row
  size_t rows = 0;

  double Square(size_t row) const {
    double sum = 0;
    for (size_t at = row; at < all.size(); at += rows) sum += all[at] * all[at];
    return sum;
  }
};

BootstrapSampler::BootstrapSampler(const BootstrapParameters& parameters, uint64_t seed,
                                   size_t rows)
    : p_(parameters),
      seed_(seed),
      share_(ShareOf(parameters, rows)),
      is_active_(IsActive(parameters, share_)) {}

double BootstrapSampler::MvsReg(const RowGradients& gradients, std::span<const double> last_leaves,
                                WorkPool& pool) const {
  if (p_.type != BootstrapType::kMvs) return 0;
  if (p_.mvs_reg.has_value()) return *p_.mvs_reg;
  double sum = 0;
  double count = 0;
  if (last_leaves.empty()) {
    sum =
        SumRows(gradients.rows, pool, [&](size_t row) { return std::sqrt(gradients.Square(row)); });
    count = static_cast<double>(gradients.rows);
  } else {
    const size_t outputs = gradients.all.size() / gradients.rows;
    for (size_t begin = 0; begin < last_leaves.size(); begin += outputs) {
      double square = 0;
      for (const double value : last_leaves.subspan(begin, outputs)) square += value * value;
      sum += std::sqrt(square);
      count += 1;
    }
  }
  return (sum / count) * (sum / count);
}

Status BootstrapSampler::Draw(uint64_t tree, uint64_t level, std::span<const double> gradients,
                              std::span<const double> last_leaves, WorkPool& pool,
                              std::span<float> factors) const {
  const uint64_t draw_seed = DrawSeed(tree, level);
  const RowGradients of_rows = {.all = gradients, .rows = factors.size()};
  const double mvs_reg = MvsReg(of_rows, last_leaves, pool);
  std::atomic<bool> has_rows = false;
  pool.RunPieces(factors.size(), kMvsBlock, [&](size_t begin, size_t end) {
    if (DrawPiece(draw_seed, of_rows, mvs_reg, begin, factors.subspan(begin, end - begin))) {
      has_rows = true;
    }
  });
  return has_rows ? Status() : NoRows(factors.size());
}

uint64_t BootstrapSampler::DrawSeed(uint64_t tree, uint64_t level) const {
  return RowHash(RowHash(Mix64(seed_) ^ kSampleSequence, tree), level);
}

RowSample BootstrapSampler::SampleOf(uint64_t draw_seed) const {
  return {.kind = p_.type == BootstrapType::kBernoulli ? RowSampleKind::kBernoulli
                  : p_.type == BootstrapType::kPoisson ? RowSampleKind::kPoisson
                                                       : RowSampleKind::kBayesian,
          .temperature = p_.bagging_temperature,
          .share = share_,
          .seed = draw_seed};
}

Status BootstrapSampler::NoRows(size_t rows) const {
  return Invalid(fmt::format("sampling leaves none of {} rows: raise subsample, which is {}", rows,
                             static_cast<float>(share_)));
}

bool BootstrapSampler::DrawPiece(uint64_t draw_seed, const RowGradients& gradients, double mvs_reg,
                                 size_t begin, std::span<float> factors) const {
  std::vector<double> sizes;  // of kMvs: of gradients, with the regularisation
  double threshold = 0;
  if (p_.type == BootstrapType::kMvs) {
    for (size_t i = 0; i < factors.size(); ++i) {
      sizes.push_back(std::sqrt(gradients.Square(begin + i) + mvs_reg));
    }
    threshold = MvsThreshold(sizes, share_ * static_cast<double>(sizes.size()));
  }
  const RowSample sample = SampleOf(draw_seed);
  for (size_t i = 0; i < factors.size(); ++i) {
    if (p_.type != BootstrapType::kMvs) {
      factors[i] = sample.FactorOf(begin + i);
      continue;
    }
    double factor = 1;
    // Gradients that are all 0 have the threshold 0.
    if (sizes[i] < threshold) {
      const double uniform = RowUniform(draw_seed, begin + i);
      factor = uniform * threshold < sizes[i] ? threshold / sizes[i] : 0;
    }
    factors[i] = static_cast<float>(factor);
  }
  return std::ranges::any_of(factors, [](float factor) { return factor > 0; });
}

}  // namespace strata
