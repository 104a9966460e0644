#include "worker/gbdt/catboost/train/grow/column_block.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>
#include <type_traits>
#include <utility>

#include "worker/gbdt/catboost/train/fit_rows.h"
#include "worker/gbdt/catboost/train/grow/monotone_scores.h"
#include "worker/gbdt/catboost/train/grow/split_scores.h"

namespace strata {
namespace {

constexpr size_t kBins = 256;          // of a column's place in a local histogram
constexpr size_t kPrefetchRows = 32;   // ahead: rows of a leaf are not neighbours
constexpr size_t kRowsTogether = 256;  // are interleaved in the first-level cache

// Writes the bins of so many rows, row by row with kColumns bytes; columns that are not there are
// 0. Halves of the columns are zipped, which vectorises.
template <size_t kColumns>
void Interleave(std::span<const GrowColumn> columns, size_t begin, size_t count, uint8_t* bins) {
  if constexpr (kColumns == 1) {
    if (columns.empty()) {
      std::memset(bins, 0, count);
    } else {
      std::memcpy(bins, columns[0].bins.data() + begin, count);
    }
  } else {
    constexpr size_t kHalf = kColumns / 2;
    const size_t split = std::min(kHalf, columns.size());
    alignas(64) std::array<uint8_t, kHalf * kRowsTogether> first;
    alignas(64) std::array<uint8_t, kHalf * kRowsTogether> second;
    Interleave<kHalf>(columns.first(split), begin, count, first.data());
    Interleave<kHalf>(columns.subspan(split), begin, count, second.data());
    for (size_t i = 0; i < count; ++i) {
      std::memcpy(bins + i * kColumns, first.data() + i * kHalf, kHalf);
      std::memcpy(bins + i * kColumns + kHalf, second.data() + i * kHalf, kHalf);
    }
  }
}

using InterleaveFunction = void (*)(std::span<const GrowColumn>, size_t, size_t, uint8_t*);
constexpr InterleaveFunction kInterleave[] = {Interleave<1>, Interleave<2>, Interleave<4>,
                                              Interleave<8>, Interleave<16>};

constexpr size_t kRowsBetweenCarries = 65535;  // whose weights of 1 add up to 16 bits

// A gradient and a weight of 1 in one word, to be added up for so many rows.
struct PackedSum {
  int64_t sum = 0;  // of (gradient << 16) + weight

  PackedSum& operator+=(const PackedSum& other) {
    sum += other.sum;
    return *this;
  }
  GradientSums Sums() const { return {sum >> 16, sum & 0xffff}; }
};

template <typename Sum>
Sum SumOf(const Row32& row) {
  if constexpr (std::is_same_v<Sum, PackedSum>) {
    return {(int64_t{row.gradient} << 16) + row.hessian};
  } else {
    return {row.gradient, row.hessian};
  }
}

// `kColumns` is known, so that the loop over them is unrolled.
template <typename Sum, size_t kColumns>
void AddRows(const uint8_t* bins, std::span<const ListedRow> rows, Sum* sums) {
  constexpr size_t kStride = std::bit_ceil(kColumns);
  for (size_t i = 0; i < rows.size(); ++i) {
    if (i + kPrefetchRows < rows.size()) {
      __builtin_prefetch(bins + size_t{rows[i + kPrefetchRows].row} * kStride);
    }
    const uint8_t* const row = bins + size_t{rows[i].row} * kStride;
    const Sum gradient = SumOf<Sum>(rows[i].gradient);
#pragma GCC unroll 16
    for (size_t c = 0; c < kColumns; ++c) sums[c * kBins + row[c]] += gradient;
  }
}

template <typename Sum>
using AddRowsFunction = void (*)(const uint8_t*, std::span<const ListedRow>, Sum*);

template <typename Sum, size_t... kIndex>
constexpr std::array<AddRowsFunction<Sum>, sizeof...(kIndex)> AddRowsTable(
    std::index_sequence<kIndex...> /*of*/) {
  return {&AddRows<Sum, kIndex + 1>...};
}

// Of 1 column, of 2, ...
template <typename Sum>
constexpr auto kAddRows = AddRowsTable<Sum>(std::make_index_sequence<ColumnBlock::kColumnsMax>());

}  // namespace

// One level.
class ColumnBlock::Scorer {
 public:
  Scorer(const ColumnBlock& block, const TreeLeaves& leaves, const FixedRows& rows,
         const ScoreRule& rule, std::span<const int8_t> directions, bool keeps, GradientSums* kept)
      : block_(block),
        leaves_(leaves),
        rows_(rows),
        rule_(rule),
        keeps_(keeps),
        kept_(kept),
        of_columns_(block.columns_.size()),
        monotone_(block.columns_.size()),
        first_(of_columns_.size() * kBins),
        second_(of_columns_.size() * kBins),
        packed_(of_columns_.size() * kBins) {
    for (SplitScores& scores : of_columns_) scores.Clear();
    for (size_t c = 0; c < monotone_.size(); ++c) {
      const GrowColumn& column = block.columns_[c];
      if (MonotoneScores::AreNeeded(directions, column)) monotone_[c].emplace(directions, column);
    }
  }

  void Run(std::span<std::vector<double>> scores) {
    const size_t pairs = std::max<size_t>(leaves_.leaves() / 2, 1);
    for (size_t leaf = 0; leaf < pairs; ++leaf) {
      for (size_t output = 0; output < rows_.outputs(); ++output) {
        if (leaves_.levels() == 0) {
          ScoreRoot(output);
        } else {
          ScorePair(leaf, leaf + pairs, output);
        }
      }
    }
    for (size_t c = 0; c < of_columns_.size(); ++c) {
      scores[c].resize(block_.columns_[c].splits);
      if (monotone_[c].has_value()) {
        monotone_[c]->Finish(rule_.is_cosine, rule_.l2, scores[c]);
      } else {
        of_columns_[c].Finish(rule_.is_cosine, scores[c]);
      }
    }
  }

 private:
  using Histogram = LargeArray<GradientSums>;

  void ScoreRoot(size_t output) {
    Build(0, output, &first_);
    Add(std::array{size_t{0}}, std::array{&first_}, output);
    if (keeps_) Keep(first_, 0, output);
  }

  void ScorePair(size_t left, size_t right, size_t output) {
    const size_t rows_left = leaves_.count(left);
    const size_t rows_right = leaves_.count(right);
    if (rows_left + rows_right == 0) return;
    const bool is_right_smaller = rows_right < rows_left;
    Histogram& smaller = is_right_smaller ? second_ : first_;
    Histogram& larger = is_right_smaller ? first_ : second_;
    Build(is_right_smaller ? right : left, output, &smaller);
    if (block_.has_kept_) {
      Subtract(left, output, smaller, &larger);
    } else {
      Build(is_right_smaller ? left : right, output, &larger);
    }
    Add(std::array{left, right}, std::array{&first_, &second_}, output);
    if (!keeps_) return;
    Keep(first_, left, output);
    Keep(second_, right, output);
  }

  void Build(size_t leaf, size_t output, Histogram* histogram) {
    ForBins([&](size_t at, size_t /*kept_at*/) { (*histogram)[at] = {}; });
    if (rows_.has_unit_weights()) return BuildPacked(leaf, output, histogram);
    for (size_t part = 0; part < leaves_.parts(); ++part) {
      AddRowsOf(leaves_.rows(part, leaf, output), histogram->data());
    }
  }

  void BuildPacked(size_t leaf, size_t output, Histogram* histogram) {
    const auto clear = [&](size_t at, size_t /*kept_at*/) { packed_[at] = {}; };
    const auto carry = [&](size_t at, size_t /*kept_at*/) {
      (*histogram)[at] += packed_[at].Sums();
    };
    ForBins(clear);
    size_t free = kRowsBetweenCarries;
    for (size_t part = 0; part < leaves_.parts(); ++part) {
      std::span<const ListedRow> rows = leaves_.rows(part, leaf, output);
      while (!rows.empty()) {
        const size_t count = std::min(free, rows.size());
        AddRowsOf(rows.first(count), packed_.data());
        rows = rows.subspan(count);
        free -= count;
        if (free > 0) continue;
        ForBins(carry);
        ForBins(clear);
        free = kRowsBetweenCarries;
      }
    }
    ForBins(carry);
  }

  template <typename Sum>
  void AddRowsOf(std::span<const ListedRow> rows, Sum* sums) const {
    kAddRows<Sum>[of_columns_.size() - 1](block_.bins_.data(), rows, sums);
  }

  // The larger leaf's is the parent's, which lies at the left one's place, without the smaller's.
  void Subtract(size_t left, size_t output, const Histogram& smaller, Histogram* larger) const {
    const GradientSums* const parent = KeptOf(left, output);
    ForBins([&](size_t at, size_t kept_at) { (*larger)[at] = parent[kept_at] - smaller[at]; });
  }

  template <size_t kLeaves>
  void Add(const std::array<size_t, kLeaves>& leaves,
           const std::array<Histogram*, kLeaves>& histograms, size_t output) {
    const GradientUnits& units = rows_.units(output);
    for (size_t c = 0; c < of_columns_.size(); ++c) {
      std::array<const GradientSums*, kLeaves> bins;
      for (size_t i = 0; i < kLeaves; ++i) bins[i] = histograms[i]->data() + c * kBins;
      const GrowColumn& column = block_.columns_[c];
      if (monotone_[c].has_value()) {
        for (size_t i = 0; i < kLeaves; ++i) monotone_[c]->Set(leaves[i], bins[i], units);
      } else {
        of_columns_[c].Add(bins, column.splits, column.is_value, units, rule_.l2);
      }
    }
  }

  void Keep(const Histogram& histogram, size_t leaf, size_t output) const {
    GradientSums* const kept = KeptOf(leaf, output);
    ForBins([&](size_t at, size_t kept_at) { kept[kept_at] = histogram[at]; });
  }

  // Calls work(its place in a local histogram, its place in a kept one) for each bin.
  template <typename Work>
  void ForBins(const Work& work) const {
    for (size_t c = 0; c < of_columns_.size(); ++c) {
      const size_t begin = block_.begins_[c];
      const size_t bins = block_.begins_[c + 1] - begin;
      for (size_t bin = 0; bin < bins; ++bin) work(c * kBins + bin, begin + bin);
    }
  }
  GradientSums* KeptOf(size_t leaf, size_t output) const {
    return kept_ + (leaf * rows_.outputs() + output) * block_.histogram_size();
  }

  const ColumnBlock& block_;
  const TreeLeaves& leaves_;
  const FixedRows& rows_;
  const ScoreRule& rule_;
  const bool keeps_;
  GradientSums* const kept_;
  std::vector<SplitScores> of_columns_;
  std::vector<std::optional<MonotoneScores>> monotone_;  // of columns that need them
  Histogram first_;                                      // of the left leaf of a pair
  Histogram second_;
  LargeArray<PackedSum> packed_;
};

void ColumnBlock::SetColumns(std::span<const GrowColumn> columns, bool are_fixed, WorkPool& pool) {
  has_kept_ = false;
  if (are_fixed && are_fixed_ && std::ranges::equal(columns, columns_, IsSameColumn)) return;
  are_fixed_ = are_fixed;
  columns_.assign(columns.begin(), columns.end());
  begins_ = {0};
  for (const GrowColumn& column : columns) begins_.push_back(begins_.back() + column.splits + 1);
  const size_t stride = std::bit_ceil(columns.size());
  const InterleaveFunction interleave = kInterleave[std::countr_zero(stride)];
  const size_t rows = columns[0].bins.size();
  bins_.resize(rows * stride);
  pool.RunPieces(rows, FitPiece(rows), [&](size_t begin, size_t end) {
    for (size_t row = begin; row < end; row += kRowsTogether) {
      interleave(columns, row, std::min(kRowsTogether, end - row), bins_.data() + row * stride);
    }
  });
}

void ColumnBlock::Score(const TreeLeaves& leaves, const FixedRows& rows, const ScoreRule& rule,
                        std::span<const int8_t> directions, bool keeps,
                        std::span<std::vector<double>> scores) {
  if (keeps) kept_.resize(leaves.leaves() * rows.outputs() * histogram_size());
  Scorer(*this, leaves, rows, rule, directions, keeps, kept_.data()).Run(scores);
  has_kept_ = keeps;
}

}  // namespace strata
