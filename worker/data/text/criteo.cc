#include "worker/data/text/criteo.h"

#include <fmt/format.h>

#include <algorithm>

namespace strata {
namespace {

constexpr int kIntegers = 13;
constexpr int kCategories = 26;

}  // namespace

const char* const kCriteoLabel = "label";

CsvFormat CriteoFormat() {
  CsvFormat format;
  format.is_criteo = true;
  format.delimiter = '\t';
  format.columns.emplace_back(kCriteoLabel);
  for (int i = 1; i <= kIntegers; ++i) format.columns.push_back(fmt::format("I{}", i));
  for (int i = 1; i <= kCategories; ++i) format.columns.push_back(fmt::format("C{}", i));
  return format;
}

std::vector<FeatureSpec> CriteoFeatures(bool log, std::span<const std::string> unused) {
  std::vector<FeatureSpec> features;
  for (const std::string& column : CriteoFormat().columns) {
    if (column == kCriteoLabel || std::ranges::count(unused, column) != 0) continue;
    FeatureSpec feature{.column = column, .kind = FeatureKind::kCategorical};
    if (column[0] == 'I') {
      feature.kind = FeatureKind::kNumeric;
      feature.log = log;
    }
    features.push_back(std::move(feature));
  }
  return features;
}

}  // namespace strata
