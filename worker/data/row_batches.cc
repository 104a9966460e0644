#include "worker/data/row_batches.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/human_text.h"
#include "worker/data/feature_key.h"
#include "worker/data/raw_features.h"

namespace strata {
namespace {

// Rows without a value are a group of their own.
uint64_t GroupOf(std::string_view text) {
  static const uint64_t salt = FeatureSalt("group", FeatureKind::kCategorical);
  return text.empty() ? MissingKey(salt) : TextKey(salt, text);
}

}  // namespace

Result<std::unique_ptr<RowBatches>> RowBatches::Make(std::unique_ptr<CsvReader> reader,
                                                     std::vector<FittedFeature> features) {
  if (RawLayoutOf(features).has_value()) {
    return Invalid(
        "the model was trained with data.format = \"raw\": expected rows of that format, found "
        "text: use the job file that trained it");
  }
  const std::vector<FeatureSpec>& expected = reader->spec().features;
  const size_t common = std::min(expected.size(), features.size());
  for (size_t i = 0; i < common; ++i) {
    if (features[i].spec == expected[i]) continue;
    return Invalid(fmt::format(
        "[[feature]]: feature {} is {} in the job file, but {} in the model: use the job file that "
        "trained it",
        i + 1, FeatureText(expected[i]), FeatureText(features[i].spec)));
  }
  if (expected.size() != features.size()) {
    return Invalid(
        fmt::format("[[feature]]: the job file has {}, but the model was trained with {}: "
                    "use the job file that trained it",
                    Counted(expected.size(), "feature"), features.size()));
  }
  return std::make_unique<RowBatches>(std::move(reader), std::move(features));
}

RowBatches::RowBatches(std::unique_ptr<RowReader> reader, std::vector<FittedFeature> features)
    : reader_(std::move(reader)),
      encoder_(std::move(features), reader_->plan()),
      group_column_(reader_->plan().group) {}

Status RowBatches::Rewind(uint64_t epoch) {
  reader_->BeginEpoch(epoch);
  return Status::Ok();
}

Status RowBatches::Next(size_t samples_max, Batch* batch) {
  encoder_.Start(batch);
  DataRow row;
  while (batch->samples < samples_max) {
    STRATA_ASSIGN(const bool read, reader_->Next(&row));
    if (!read) break;
    if (!row.bad.empty()) batch->bad.push_back({batch->samples, std::string(row.bad)});
    encoder_.Append(row, batch);
    if (group_column_ != ColumnPlan::kNone) {
      batch->groups.push_back(GroupOf(row.fields[group_column_]));
    }
  }
  return Status::Ok();
}

}  // namespace strata
