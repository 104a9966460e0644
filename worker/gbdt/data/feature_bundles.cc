#include "worker/gbdt/data/feature_bundles.h"

#include <algorithm>
#include <numeric>

namespace strata {
namespace {

constexpr size_t kValuesMax = 256;     // of a bundle: a byte holds one
constexpr size_t kBundlesTried = 100;  // the latest ones

// A bundle while features are added.
struct Bundle {
  std::vector<uint32_t> features;
  std::vector<bool> taken;  // of each row of the sample
  size_t rows = 0;          // taken
  size_t values = 1;

  bool Takes(size_t bins, std::span<const uint32_t> non_zero) const {
    return values + bins - 1 <= kValuesMax && rows + non_zero.size() <= taken.size() &&
           std::ranges::none_of(non_zero, [this](uint32_t row) { return taken[row]; });
  }
  void Add(uint32_t feature, size_t bins, std::span<const uint32_t> non_zero) {
    features.push_back(feature);
    values += bins - 1;
    rows += non_zero.size();
    for (const uint32_t row : non_zero) taken[row] = true;
  }
};

std::vector<std::vector<uint32_t>> BundleInOrder(std::span<const uint32_t> order,
                                                 std::span<const FeatureShape> shapes,
                                                 std::span<const NonZeroRows> non_zero,
                                                 size_t sampled) {
  std::vector<std::vector<uint32_t>> columns;
  std::vector<Bundle> bundles;
  for (const uint32_t feature : order) {
    const size_t bins = shapes[feature].bins;
    if (non_zero[feature].is_dense() || bins > kValuesMax) {
      columns.push_back({feature});
      continue;
    }
    const std::span<const uint32_t> rows = non_zero[feature].rows();
    const auto first = bundles.rbegin();
    const auto last = first + static_cast<ptrdiff_t>(std::min(kBundlesTried, bundles.size()));
    auto found = std::find_if(first, last, [&](const Bundle& b) { return b.Takes(bins, rows); });
    if (found == last) {
      bundles.push_back({.features = {}, .taken = std::vector<bool>(sampled)});
      found = bundles.rbegin();
    }
    found->Add(feature, bins, rows);
  }
  for (Bundle& bundle : bundles) columns.push_back(std::move(bundle.features));
  return columns;
}

}  // namespace

std::vector<std::vector<uint32_t>> FindBundles(std::span<const FeatureShape> shapes,
                                               std::span<const NonZeroRows> non_zero,
                                               size_t sampled) {
  std::vector<uint32_t> order(shapes.size());
  std::iota(order.begin(), order.end(), 0U);
  std::vector<std::vector<uint32_t>> columns = BundleInOrder(order, shapes, non_zero, sampled);
  std::ranges::stable_sort(order, [&](uint32_t a, uint32_t b) {
    return non_zero[a].rows().size() > non_zero[b].rows().size();
  });
  std::vector<std::vector<uint32_t>> by_rows = BundleInOrder(order, shapes, non_zero, sampled);
  if (by_rows.size() < columns.size()) columns = std::move(by_rows);
  for (std::vector<uint32_t>& features : columns) std::ranges::sort(features);
  std::ranges::sort(columns);
  return columns;
}

}  // namespace strata
