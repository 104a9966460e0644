#include "worker/gbdt/sampler/goss.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/hash.h"
#include "worker/gbdt/sampler/row_cut.h"

namespace strata {
namespace {

constexpr size_t kPieceRows = 1 << 16;

int64_t ShareOf(uint64_t rows, double share) {
  return std::max<int64_t>(1, static_cast<int64_t>(static_cast<double>(rows) * share));
}

}  // namespace

Goss::Goss(const BoostingParameters& p, const TreeDataset& data)
    : data_(data),
      top_(ShareOf(data.all_rows(), p.top_rate)),
      other_(std::min(ShareOf(data.all_rows(), p.other_rate),
                      static_cast<int64_t>(data.all_rows()) - top_)),
      rounds_of_all_(static_cast<uint64_t>(1 / p.learning_rate)),
      seed_(static_cast<uint64_t>(p.bagging_seed)) {}

void Goss::Score(WorkPool& pool, std::span<const float> gradients,
                 std::span<const float> hessians) {
  const size_t count = data_.rows();
  scores_.resize(count);
  pool.RunPieces(count, kPieceRows, [&](size_t begin, size_t end) {
    for (size_t row = begin; row < end; ++row) {
      double score = 0;
      for (size_t i = row; i < gradients.size(); i += count) {
        score += std::fabs(static_cast<double>(gradients[i]) * static_cast<double>(hessians[i]));
      }
      scores_[row] = std::bit_cast<uint64_t>(score);
    }
  });
}

GpuSample Goss::OnGpu(uint64_t round) const {
  if (HasAll(round)) return GpuBag{};
  const uint64_t tie_seed = Mix64(Mix64(seed_) + round);
  const double others = static_cast<double>(static_cast<int64_t>(data_.all_rows()) - top_);
  return GpuGoss{.top = top_,
                 .other = other_,
                 .tie_seed = tie_seed,
                 .other_seed = Mix64(tie_seed),
                 .factor = static_cast<float>(others / static_cast<double>(other_))};
}

void Goss::Sample(uint64_t round, WorkPool& pool, std::span<float> gradients,
                  std::span<float> hessians, std::vector<uint32_t>* rows) {
  if (HasAll(round)) return;
  const size_t count = data_.rows();
  const RowShare& share = data_.share;
  const uint64_t first_row = share.first_row();
  const auto [top_count, other_count, tie_seed, other_seed, factor] =
      std::get<GpuGoss>(OnGpu(round));
  Score(pool, gradients, hessians);
  const KeyCut top = FindCut(count, top_count, share, pool, [&](size_t row, uint64_t* key) {
    *key = scores_[row];
    return true;
  });
  uint64_t tie_key = 0;
  if (top.needed < top.rows) {
    tie_key = FindCut(count, top.needed, share, pool, [&](size_t row, uint64_t* key) {
                *key = RowHash(tie_seed, first_row + row);
                return scores_[row] == top.key;
              }).key;
  }
  const auto is_top = [&](size_t row) {
    if (scores_[row] != top.key) return scores_[row] > top.key;
    return RowHash(tie_seed, first_row + row) >= tie_key;
  };
  const KeyCut other = FindCut(count, other_count, share, pool, [&](size_t row, uint64_t* key) {
    *key = RowHash(other_seed, first_row + row);
    return !is_top(row);
  });
  rows->clear();
  for (size_t row = 0; row < count; ++row) {
    if (!is_top(row)) {
      if (RowHash(other_seed, first_row + row) < other.key) continue;
      for (size_t i = row; i < gradients.size(); i += count) {
        gradients[i] *= factor;
        hessians[i] *= factor;
      }
    }
    rows->push_back(static_cast<uint32_t>(row));
  }
}

}  // namespace strata
