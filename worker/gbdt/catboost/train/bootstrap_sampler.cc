#include "worker/gbdt/catboost/train/bootstrap_sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <vector>

#include "base/hash.h"
#include "kernels/tree/gradient/fixed_point.h"
#include "worker/gbdt/catboost/train/row_sums.h"

namespace strata {
namespace {

constexpr uint64_t kSampleSequence = 0x73616d706c65;  // tells draws of rows from others

double ShareOf(const BootstrapParameters& p, size_t rows) {
  if (p.subsample.has_value()) return *p.subsample;
  if (rows < 100) return 1;
  return p.type == BootstrapType::kMvs ? 0.8F : 0.66F;
}

RowDrawKind KindOf(BootstrapType type) {
  switch (type) {
    case BootstrapType::kBernoulli:
      return RowDrawKind::kBernoulli;
    case BootstrapType::kPoisson:
      return RowDrawKind::kPoisson;
    case BootstrapType::kMvs:
      return RowDrawKind::kMvs;
    case BootstrapType::kNo:  // nothing is drawn
    case BootstrapType::kBayesian:
      break;
  }
  return RowDrawKind::kBayesian;
}

bool IsActive(const BootstrapParameters& p, double share) {
  if (p.type == BootstrapType::kNo) return false;
  return p.type == BootstrapType::kBayesian ? p.bagging_temperature > 0 : share < 1;
}

// The threshold for which as many rows are wanted, more than none and fewer than all. It narrows
// the sizes down to those that may be next to it.
double MvsThreshold(std::vector<double> sizes, double wanted) {
  const ExactUnits units = ExactUnits::For(*std::max_element(sizes.begin(), sizes.end()), kMvsRows);
  const auto sum = [&](auto first, auto last) {
    int64_t all = 0;
    for (; first != last; ++first) all += units.Of(*first);
    return all;
  };
  MvsSums found;
  auto begin = sizes.begin();
  auto end = sizes.end();
  while (begin != end) {
    const double pivot = begin[(end - begin) / 2];
    const auto equal = std::partition(begin, end, [&](double n) { return n < pivot; });
    const auto above = std::partition(equal, end, [&](double n) { return n == pivot; });
    const int64_t smaller = sum(begin, equal);
    const MvsSums at_pivot = {.below = found.below + smaller,
                              .others = found.others + static_cast<uint32_t>(end - equal)};
    if (at_pivot.KeepsMore(units, pivot, wanted)) {
      found.below = at_pivot.below + sum(equal, above);
      begin = above;
    } else {
      found.others = at_pivot.others;
      end = equal;
    }
  }
  return found.Threshold(units, wanted);
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

std::optional<double> BootstrapSampler::MvsReg(std::span<const double> last_leaves,
                                               size_t outputs) const {
  if (p_.type != BootstrapType::kMvs) return 0.0;
  if (p_.mvs_reg.has_value()) return p_.mvs_reg;
  if (last_leaves.empty()) return std::nullopt;
  double sum = 0;
  double count = 0;
  for (size_t begin = 0; begin < last_leaves.size(); begin += outputs) {
    double square = 0;
    for (const double value : last_leaves.subspan(begin, outputs)) square += value * value;
    sum += std::sqrt(square);
    count += 1;
  }
  return MvsRegOfMean(sum / count);
}

Status BootstrapSampler::Draw(uint64_t tree, uint64_t level, std::span<const double> gradients,
                              std::span<const double> last_leaves, WorkPool& pool,
                              std::span<float> factors) const {
  const uint64_t draw_seed = DrawSeed(tree, level);
  const RowGradients of_rows = {.all = gradients, .rows = factors.size()};
  std::optional<double> reg = MvsReg(last_leaves, gradients.size() / factors.size());
  if (!reg.has_value()) {
    const double sum =
        SumRows(factors.size(), pool, [&](size_t row) { return std::sqrt(of_rows.Square(row)); });
    reg = MvsRegOfMean(sum / static_cast<double>(factors.size()));
  }
  const RowDraw sample = SampleOf(draw_seed, *reg);
  std::atomic<bool> has_rows = false;
  pool.RunPieces(factors.size(), kMvsRows, [&](size_t begin, size_t end) {
    if (DrawPiece(sample, of_rows, begin, factors.subspan(begin, end - begin))) {
      has_rows = true;
    }
  });
  return has_rows ? Status() : NoRows(factors.size());
}

uint64_t BootstrapSampler::DrawSeed(uint64_t tree, uint64_t level) const {
  return RowHash(RowHash(Mix64(seed_) ^ kSampleSequence, tree), level);
}

RowDraw BootstrapSampler::SampleOf(uint64_t draw_seed, double mvs_reg) const {
  return {.kind = KindOf(p_.type),
          .temperature = p_.bagging_temperature,
          .share = share_,
          .seed = draw_seed,
          .reg = mvs_reg};
}

Status BootstrapSampler::NoRows(size_t rows) const {
  return Invalid(fmt::format("sampling leaves none of {} rows: raise subsample, which is {}", rows,
                             static_cast<float>(share_)));
}

bool BootstrapSampler::DrawPiece(const RowDraw& sample, const RowGradients& gradients, size_t begin,
                                 std::span<float> factors) const {
  if (sample.kind != RowDrawKind::kMvs) {
    for (size_t i = 0; i < factors.size(); ++i) factors[i] = sample.FactorOf(begin + i);
  } else {
    std::vector<double> sizes;
    for (size_t i = 0; i < factors.size(); ++i) {
      sizes.push_back(sample.SizeOf(gradients.Square(begin + i)));
    }
    const double threshold = MvsThreshold(sizes, share_ * static_cast<double>(sizes.size()));
    for (size_t i = 0; i < factors.size(); ++i) {
      factors[i] = sample.MvsFactorOf(begin + i, sizes[i], threshold);
    }
  }
  return std::ranges::any_of(factors, [](float factor) { return factor > 0; });
}

}  // namespace strata
