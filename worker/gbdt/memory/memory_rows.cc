#include "worker/gbdt/memory/memory_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "worker/gbdt/data/bin_mapper.h"

namespace strata {
namespace {

constexpr size_t kBlockValues = 1 << 18;
constexpr size_t kFeaturesMax = 1 << 24;

template <typename Value>
void AppendRows(std::span<const Value> values, size_t features, SparseRows* block) {
  for (size_t begin = 0; begin < values.size(); begin += features) {
    for (size_t feature = 0; feature < features; ++feature) {
      const double value = values[begin + feature];
      if (std::fabs(value) <= kZeroThreshold) continue;  // NaN is kept
      block->columns.push_back(static_cast<uint32_t>(feature));
      block->values.push_back(value);
    }
    block->begins.push_back(block->values.size());
  }
}

}  // namespace

Result<MemoryRows> MemoryRows::Make(const TreeRows& rows, std::string what, bool needs_labels) {
  const size_t values = std::visit([](auto given) { return given.size(); }, rows.values);
  if (rows.features < 1 || rows.features > kFeaturesMax) {
    return Invalid(
        fmt::format("{}: {} features: expected 1 to {}", what, rows.features, kFeaturesMax));
  }
  if (values % rows.features != 0) {
    return Invalid(
        fmt::format("{}: {} values do not make rows of {} features", what, values, rows.features));
  }
  const size_t count = values / rows.features;
  if (rows.labels.size() != count && (needs_labels || !rows.labels.empty())) {
    return Invalid(fmt::format("{}: {} labels for {} rows", what, rows.labels.size(), count));
  }
  if (rows.weights.size() != count && !rows.weights.empty()) {
    return Invalid(fmt::format("{}: {} weights for {} rows", what, rows.weights.size(), count));
  }
  for (size_t row = 0; row < rows.labels.size(); ++row) {
    if (!std::isfinite(rows.labels[row])) {
      return Invalid(
          fmt::format("{}: row {}: label {} is not finite", what, row + 1, rows.labels[row]));
    }
  }
  for (size_t row = 0; row < rows.weights.size(); ++row) {
    if (!std::isfinite(rows.weights[row]) || rows.weights[row] < 0) {
      return Invalid(fmt::format("{}: row {}: weight {}: expected 0 or more", what, row + 1,
                                 rows.weights[row]));
    }
  }
  return MemoryRows(rows, std::move(what), count);
}

Status MemoryRows::Next(SparseRows* block) {
  block->Clear();
  const size_t features = given_.features;
  const size_t rows = std::min(std::max<size_t>(1, kBlockValues / features), rows_ - next_row_);
  std::visit(
      [&](auto values) {
        AppendRows(values.subspan(next_row_ * features, rows * features), features, block);
      },
      given_.values);
  block->labels.assign(rows, std::numeric_limits<float>::quiet_NaN());
  if (!given_.labels.empty()) {
    std::ranges::copy(given_.labels.subspan(next_row_, rows), block->labels.begin());
  }
  if (!given_.weights.empty()) {
    const std::span<const float> weights = given_.weights.subspan(next_row_, rows);
    block->weights.assign(weights.begin(), weights.end());
  }
  next_row_ += rows;
  return {};
}

Status MemoryRows::Rewind() {
  next_row_ = 0;
  return {};
}

Status MemoryRows::TakePart(const RowPart& /*part*/) {
  return Refused(what_ + ": rows in memory are not divided among ranks");
}

}  // namespace strata
