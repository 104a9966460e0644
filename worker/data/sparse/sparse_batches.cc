#include "worker/data/sparse/sparse_batches.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/human_text.h"
#include "worker/data/feature/feature_key.h"
#include "worker/data/sparse/sparse_fields.h"
#include "worker/data/sparse/sparse_row.h"
#include "worker/data/text/text_batches.h"

namespace strata {
namespace {

class SparseEncoder : public LineEncoder {
 public:
  SparseEncoder(SparseRowParser parser, SparseFields fields,
                std::shared_ptr<const std::vector<uint64_t>> salts)
      : parser_(std::move(parser)), fields_(std::move(fields)), salts_(std::move(salts)) {}

  void Start(Batch* batch) const override { batch->Start(salts_->size(), 0); }
  bool IsSkipped(std::string_view line) const override { return parser_.IsSkipped(line); }
  LineKind Append(std::string_view line, Batch* batch, std::string* why) override {
    SparseRow row;
    *why = parser_.Parse(line, &row);
    if (!why->empty()) return LineKind::kBad;
    *why = FindEntries(row);
    if (!why->empty()) return LineKind::kWrong;
    AppendEntries(row.label, batch);
    return LineKind::kSample;
  }
  void AppendMissing(Batch* batch) override {
    entries_.clear();
    AppendEntries(std::nanf(""), batch);
  }

 private:
  struct Entry {
    size_t slot;
    Key key;
    float weight;
  };

  // The row's keys, slot after slot. Returns "", or which field is unknown.
  std::string FindEntries(const SparseRow& row) {
    entries_.clear();
    for (const SparseValue& value : row.values) {
      const std::optional<size_t> slot = fields_.SlotOf(value.field);
      if (!slot.has_value()) {
        return fmt::format(
            "field {} is not among the {} that the model was trained with: correct the file, or "
            "train with rows that have the field",
            value.field, Counted(salts_->size(), "field"));
      }
      entries_.push_back({*slot, TextKey((*salts_)[*slot], value.text), value.weight});
    }
    if (!std::ranges::is_sorted(entries_, {}, &Entry::slot)) {
      std::ranges::stable_sort(entries_, {}, &Entry::slot);
    }
    return "";
  }

  void AppendEntries(float label, Batch* batch) {
    ends_.assign(salts_->size(), 0);
    keys_.clear();
    weights_.clear();
    for (const Entry& entry : entries_) {
      ++ends_[entry.slot];
      keys_.push_back(entry.key);
      weights_.push_back(entry.weight);
    }
    std::inclusive_scan(ends_.begin(), ends_.end(), ends_.begin());
    if (std::ranges::all_of(weights_, [](float weight) { return weight == 1; })) weights_.clear();
    batch->AppendKeys(keys_, weights_, ends_);
    batch->labels.push_back(label);
    batch->weights.push_back(1);
    ++batch->samples;
  }

  SparseRowParser parser_;
  SparseFields fields_;
  std::shared_ptr<const std::vector<uint64_t>> salts_;  // by slot
  // Of the row that is being appended.
  std::vector<Entry> entries_;
  std::vector<uint32_t> ends_;
  std::vector<Key> keys_;
  std::vector<float> weights_;
};

}  // namespace

Result<std::unique_ptr<BatchSource>> MakeSparseBatches(Disk& disk, SparseFiles files,
                                                       const DataSpec& spec,
                                                       const TextOptions& options,
                                                       std::span<const FittedFeature> features) {
  STRATA_ASSIGN(const SparseFields fields, FieldsOfFeatures(*spec.sparse, features));
  std::vector<uint64_t> salts;
  for (const FittedFeature& feature : features) {
    salts.push_back(FeatureSalt(feature.spec.column, feature.spec.kind));
  }
  const auto shared = std::make_shared<const std::vector<uint64_t>>(std::move(salts));
  return TextBatches::Make(disk, std::move(files.texts), std::move(files.advice),
                           spec.format.bad_share_max, options, [&] {
                             return std::make_unique<SparseEncoder>(
                                 SparseRowParser(spec, options.labels_required), fields, shared);
                           });
}

}  // namespace strata
