#include "worker/gbdt/catboost/train/ordered_ctrs.h"

#include <algorithm>
#include <array>

#include "worker/gbdt/catboost/ctr_value.h"
#include "worker/gbdt/catboost/key_index.h"

namespace strata {
namespace {

// The rows of a key that count for a statistic, and all of them.
struct GoodAndTotal {
  float good = 0;
  float total = 0;
};

// Makes bins of what keys have, for one prior.
class Binning {
 public:
  Binning(const CtrKind& kind, float prior)
      : prior_(prior),
        shift_(-std::min(0.0F, prior)),
        norm_(std::max(1.0F, prior) - std::min(0.0F, prior)),
        borders_(static_cast<float>(kind.border_count)) {}

  uint8_t operator()(const GoodAndTotal& rows) const {
    const float value = (rows.good + prior_) / (rows.total + 1);
    return static_cast<uint8_t>(static_cast<int32_t>((value + shift_) / norm_ * borders_));
  }

  float shift() const { return shift_; }
  float scale() const { return borders_ / norm_; }

 private:
  float prior_;
  float shift_;
  float norm_;
  float borders_;
};

// By what a mean's classes are divided, so that they are from 0 to 1.
float Divisor(const CtrKind& kind) {
  return kind.type == CtrType::kBinarizedTargetMean ? static_cast<float>(kind.classes->count - 1)
                                                    : 1.0F;
}

// How much a row of each class counts.
std::vector<float> GoodOfClasses(const CtrKind& kind) {
  std::vector<float> good(kind.classes->count);
  for (uint32_t c = 0; c < good.size(); ++c) {
    good[c] = kind.type == CtrType::kBorders   ? (c > kind.target_border ? 1.0F : 0.0F)
              : kind.type == CtrType::kBuckets ? (c == kind.target_border ? 1.0F : 0.0F)
                                               : static_cast<float>(c) / Divisor(kind);
  }
  return good;
}

std::vector<uint32_t> RowsOfKeys(const RowKeys& keys) {
  std::vector<uint32_t> rows(keys.count);
  for (const uint32_t key : keys.of_rows) ++rows[key];
  return rows;
}

// Bins of keys first, for there are fewer of them than rows.
std::vector<CtrBins> Counters(const CtrKind& kind, const RowKeys& keys) {
  const std::vector<uint32_t> counts = RowsOfKeys(keys);
  const auto most = static_cast<float>(std::ranges::max(counts));
  std::vector<CtrBins> bins;
  for (const float prior : kind.priors) {
    const Binning binning(kind, prior);
    CtrBins of_keys;
    for (const uint32_t count : counts) {
      of_keys.push_back(binning({static_cast<float>(count), most}));
    }
    CtrBins& of_rows = bins.emplace_back();
    of_rows.reserve(keys.of_rows.size());
    for (const uint32_t key : keys.of_rows) of_rows.push_back(of_keys[key]);
  }
  return bins;
}

// What the rows of some places have, before it becomes bins of several rows at a time.
struct PlaceBlock {
  static constexpr size_t kPlacesMax = 1024;

  std::array<float, kPlacesMax> good;
  std::array<float, kPlacesMax> total;
  std::array<uint8_t, kPlacesMax> bins;

  void MakeBins(const Binning& binning, size_t places) {
    for (size_t i = 0; i < places; ++i) bins[i] = binning({good[i], total[i]});
  }
};

// `Good` adds up what rows of a class count: whole numbers, or for means floats, as in CatBoost.
template <typename Good>
std::vector<CtrBins> CountsBefore(const CtrKind& kind, const RowKeys& keys, const RowOrder& order) {
  const size_t rows = keys.of_rows.size();
  std::vector<Good> good;
  for (const float of_class : GoodOfClasses(kind)) good.push_back(static_cast<Good>(of_class));
  struct Counts {
    Good good = 0;
    uint32_t total = 0;
  };
  std::vector<Counts> counts(keys.count);
  std::vector<CtrBins> bins(kind.priors.size(), CtrBins(rows));
  const auto row_at = [&](size_t place) { return order.empty() ? place : order[place]; };
  PlaceBlock block;
  for (size_t begin = 0; begin < rows; begin += PlaceBlock::kPlacesMax) {
    const size_t places = std::min(PlaceBlock::kPlacesMax, rows - begin);
    for (size_t i = 0; i < places; ++i) {
      const size_t row = row_at(begin + i);
      Counts& before = counts[keys.of_rows[row]];
      block.good[i] = static_cast<float>(before.good);
      block.total[i] = static_cast<float>(before.total);
      before.good += good[kind.classes->of_rows[row]];
      ++before.total;
    }
    for (size_t p = 0; p < bins.size(); ++p) {
      block.MakeBins(Binning(kind, kind.priors[p]), places);
      for (size_t i = 0; i < places; ++i) bins[p][row_at(begin + i)] = block.bins[i];
    }
  }
  return bins;
}

}  // namespace

std::vector<CtrBins> OrderedCtrs(const CtrKind& kind, const RowKeys& keys, const RowOrder& order) {
  if (kind.classes == nullptr) return Counters(kind, keys);
  return kind.type == CtrType::kBinarizedTargetMean ? CountsBefore<float>(kind, keys, order)
                                                    : CountsBefore<uint32_t>(kind, keys, order);
}

CtrTable CountKeys(const CtrKind& kind, const RowKeys& keys) {
  CtrTable table;
  table.type = kind.type;
  if (kind.classes == nullptr) {
    const std::vector<uint32_t> counts = RowsOfKeys(keys);
    table.width = 1;
    table.numbers.assign(counts.begin(), counts.end());
    table.denominator = std::ranges::max(counts);
    return table;
  }
  table.width = table.IsMean() ? 2 : kind.classes->count;
  table.numbers.resize(keys.count * table.width);
  // CatBoost reads sums as whole numbers. Those of means are therefore sums of classes, and their
  // counts are that many times larger.
  const double step = Divisor(kind);
  for (size_t row = 0; row < keys.of_rows.size(); ++row) {
    double* const numbers = &table.numbers[keys.of_rows[row] * table.width];
    const uint16_t of_row = kind.classes->of_rows[row];
    if (table.IsMean()) {
      numbers[0] += of_row;
      numbers[1] += step;
    } else {
      ++numbers[of_row];
    }
  }
  return table;
}

CtrBins TableCtrs(const CtrKind& kind, float prior, const CtrTable& table,
                  std::span<const uint32_t> keys) {
  const size_t known = table.numbers.size() / table.width;
  const CatBoostCtr ctr = ModelCtr(kind, prior);
  CtrBins bins;
  bins.reserve(keys.size());
  for (const uint32_t key : keys) {
    const float value = CtrValue(table, ctr, key < known ? key : KeyIndex::kNone);
    const auto above = std::ranges::lower_bound(ctr.borders, value);
    bins.push_back(static_cast<uint8_t>(above - ctr.borders.begin()));
  }
  return bins;
}

CatBoostCtr ModelCtr(const CtrKind& kind, float prior) {
  const Binning binning(kind, prior);
  const float divisor = Divisor(kind);
  CatBoostCtr ctr;
  ctr.target_border = kind.target_border;
  ctr.prior_numerator = prior * divisor;
  ctr.prior_denominator = divisor;
  ctr.shift = binning.shift();
  ctr.scale = binning.scale();
  for (size_t bin = 0; bin < kind.border_count; ++bin) {
    ctr.borders.push_back(static_cast<float>(bin) + 0.999999F);
  }
  return ctr;
}

}  // namespace strata
