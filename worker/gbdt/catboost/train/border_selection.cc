#include "worker/gbdt/catboost/train/border_selection.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <span>
#include <utility>

#include "worker/gbdt/catboost/train/exact_borders.h"

namespace strata {
namespace {

// Sorted values from begin on, before end, and where they would be cut.
struct LogSumBin {
  size_t begin = 0;
  size_t end = 0;
  size_t cut = 0;  // begin or end: they are all the same
  double score = 0;
};

LogSumBin MakeBin(std::span<const float> values, size_t begin, size_t end) {
  const auto score = [&](size_t cut) {
    if (cut == begin || cut == end) return -std::numeric_limits<double>::infinity();
    constexpr double kTiny = 1e-8;
    return std::log(static_cast<double>(cut - begin) + kTiny) +
           std::log(static_cast<double>(end - cut) + kTiny) -
           std::log(static_cast<double>(end - begin) + kTiny);
  };
  const float middle = values[begin + (end - begin) / 2];
  const auto [low, high] = std::equal_range(values.begin() + static_cast<ptrdiff_t>(begin),
                                            values.begin() + static_cast<ptrdiff_t>(end), middle);
  const auto left = static_cast<size_t>(low - values.begin());
  const auto right = static_cast<size_t>(high - values.begin());
  const bool is_left = score(left) >= score(right);
  const size_t cut = is_left ? left : right;
  return {.begin = begin, .end = end, .cut = cut, .score = score(cut)};
}

// A binary heap whose order among equal scores is that of libc++, with which CatBoost is built: all
// cuts of two distinct values tie, so that this order decides which borders there are.
class BinHeap {
 public:
  const LogSumBin& best() const { return bins_.front(); }
  const std::vector<LogSumBin>& bins() const { return bins_; }

  void Push(const LogSumBin& bin) {
    bins_.push_back(bin);
    size_t at = bins_.size() - 1;
    while (at > 0 && bins_[(at - 1) / 2].score < bin.score) {
      bins_[at] = bins_[(at - 1) / 2];
      at = (at - 1) / 2;
    }
    bins_[at] = bin;
  }

  // The last bin takes the place of the best one and goes down.
  void Pop() {
    const LogSumBin bin = bins_.back();
    bins_.pop_back();
    if (bins_.empty()) return;
    size_t at = 0;
    while (true) {
      size_t child = 2 * at + 1;
      if (child >= bins_.size()) break;
      if (child + 1 < bins_.size() && bins_[child].score < bins_[child + 1].score) ++child;
      if (bins_[child].score < bin.score) break;
      bins_[at] = bins_[child];
      at = child;
    }
    bins_[at] = bin;
  }

 private:
  std::vector<LogSumBin> bins_;
};

// Halves, so that the sum of two large floats stays finite.
float Between(float low, float high) { return 0.5F * low + 0.5F * high; }

std::set<float> GreedyLogSum(std::span<const float> values, size_t count) {
  BinHeap heap;
  heap.Push(MakeBin(values, 0, values.size()));
  while (heap.bins().size() <= count) {
    const LogSumBin best = heap.best();
    if (best.cut == best.begin || best.cut == best.end) break;
    heap.Pop();
    heap.Push(MakeBin(values, best.begin, best.cut));
    heap.Push(MakeBin(values, best.cut, best.end));
  }
  std::set<float> borders;
  for (const LogSumBin& bin : heap.bins()) {
    if (bin.begin > 0) borders.insert(Between(values[bin.begin - 1], values[bin.begin]));
  }
  return borders;
}

// Half-way between the values around a number that is above the first value and not above the last.
float MovedBetweenValues(std::span<const float> values, float number) {
  const auto above = std::ranges::lower_bound(values, number);
  const float border = Between(*(above - 1), *above);
  return border == *above ? *(above - 1) : border;
}

void AddMedians(std::span<const float> values, size_t count, std::set<float>* borders) {
  for (size_t i = 1; i <= count; ++i) {
    const float value = values[std::min(i * values.size() / (count + 1), values.size() - 1)];
    if (value != values.front()) borders->insert(MovedBetweenValues(values, value));
  }
}

// `moved`: each border moves half-way between the values beside it.
void AddUniform(std::span<const float> values, size_t count, bool moved, std::set<float>* borders) {
  const float range = values.back() - values.front();
  if (!std::isfinite(range)) return;
  for (size_t i = 1; i <= count; ++i) {
    const float border =
        values.front() + static_cast<float>(i) * range / static_cast<float>(count + 1);
    if (!std::isfinite(border) || border <= values.front() || border > values.back()) continue;
    borders->insert(moved ? MovedBetweenValues(values, border) : border);
  }
}

constexpr std::pair<std::string_view, BorderType> kNames[] = {
    {"MinEntropy", BorderType::kMinEntropy},
    {"MaxLogSum", BorderType::kMaxLogSum},
    {"GreedyLogSum", BorderType::kGreedyLogSum},
    {"Median", BorderType::kMedian},
    {"Uniform", BorderType::kUniform},
    {"UniformAndQuantiles", BorderType::kUniformAndQuantiles}};

}  // namespace

std::optional<BorderType> FindBorderType(std::string_view name) {
  for (const auto& [known, type] : kNames) {
    if (known == name) return type;
  }
  return std::nullopt;
}

std::vector<float> SelectBorders(std::vector<float> values, BorderType type, size_t count) {
  std::ranges::sort(values);
  if (values.empty() || values.front() == values.back()) return {};
  std::set<float> borders;
  switch (type) {
    case BorderType::kGreedyLogSum:
      borders = GreedyLogSum(values, count);
      break;
    case BorderType::kMedian:
      AddMedians(values, count, &borders);
      break;
    case BorderType::kUniform:
      AddUniform(values, count, false, &borders);
      break;
    case BorderType::kUniformAndQuantiles:
      AddMedians(values, count - count / 2, &borders);
      AddUniform(values, count / 2, true, &borders);
      break;
    case BorderType::kMinEntropy:
      borders = ExactBorders(values, count, EntropyPenalty);
      break;
    case BorderType::kMaxLogSum:
      borders = ExactBorders(values, count, LogSumPenalty);
      break;
  }
  // Infinite values make borders that no JSON holds, and NaN between opposite infinities.
  std::erase_if(borders, [](float border) { return !std::isfinite(border); });
  return {borders.begin(), borders.end()};
}

}  // namespace strata
