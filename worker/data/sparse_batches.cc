#include "worker/data/sparse_batches.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/human_text.h"
#include "worker/data/feature_key.h"

namespace strata {

Result<std::unique_ptr<SparseBatches>> SparseBatches::Make(
    std::unique_ptr<SparseReader> reader, std::span<const FittedFeature> features) {
  STRATA_ASSIGN(SparseFields fields, FieldsOfFeatures(*reader->spec().sparse, features));
  return std::unique_ptr<SparseBatches>(new SparseBatches(std::move(reader), std::move(fields)));
}

SparseBatches::SparseBatches(std::unique_ptr<SparseReader> reader, SparseFields fields)
    : reader_(std::move(reader)), fields_(std::move(fields)) {
  for (const FittedFeature& feature : FeaturesOfFields(*reader_->spec().sparse, fields_)) {
    salts_.push_back(FeatureSalt(feature.spec.column, feature.spec.kind));
  }
}

Status SparseBatches::Rewind(uint64_t epoch) {
  reader_->BeginEpoch(epoch);
  return Status::Ok();
}

Status SparseBatches::Next(size_t samples_max, Batch* batch) {
  batch->Start(salts_.size(), 0);
  SparseRow row;
  while (batch->samples < samples_max) {
    STRATA_ASSIGN(const bool read, reader_->Next(&row));
    if (!read) break;
    if (!row.bad.empty()) batch->bad.push_back({batch->samples, std::string(row.bad)});
    STRATA_TRY(Append(row, batch));
  }
  return Status::Ok();
}

Status SparseBatches::Append(const SparseRow& row, Batch* batch) {
  STRATA_TRY(FindEntries(row));
  lengths_.assign(salts_.size(), 0);
  keys_.clear();
  weights_.clear();
  for (const Entry& entry : entries_) {
    ++lengths_[entry.slot];
    keys_.push_back(entry.key);
    weights_.push_back(entry.weight);
  }
  if (std::ranges::all_of(weights_, [](float weight) { return weight == 1; })) weights_.clear();
  STRATA_TRY(batch->AppendKeys(keys_, weights_, lengths_));
  batch->labels.push_back(row.label);
  batch->weights.push_back(1);
  ++batch->samples;
  return Status::Ok();
}

// The row's keys, slot after slot.
Status SparseBatches::FindEntries(const SparseRow& row) {
  entries_.clear();
  for (const SparseValue& value : row.values) {
    const std::optional<size_t> slot = fields_.SlotOf(value.field);
    if (!slot.has_value()) {
      return Invalid(fmt::format(
          "{}: field {} is not among the {} that the model was trained with: correct the file, or "
          "train with rows that have the field",
          reader_->PlaceOfRow(), value.field, Counted(salts_.size(), "field")));
    }
    entries_.push_back({*slot, TextKey(salts_[*slot], value.text), value.weight});
  }
  if (!std::ranges::is_sorted(entries_, {}, &Entry::slot)) {
    std::ranges::stable_sort(entries_, {}, &Entry::slot);
  }
  return Status::Ok();
}

}  // namespace strata
