#include "worker/data/text/csv_batches.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/human_text.h"
#include "worker/data/raw/raw_features.h"
#include "worker/data/text/csv_row.h"
#include "worker/data/text/text_batches.h"

namespace strata {
namespace {

class CsvEncoder : public LineEncoder {
 public:
  CsvEncoder(CsvRowParser parser, std::shared_ptr<const FeatureEncoder> features)
      : parser_(std::move(parser)), features_(std::move(features)) {}

  void Start(Batch* batch) const override { features_->Start(batch); }
  bool IsSkipped(std::string_view line) const override { return parser_.IsSkipped(line); }
  LineKind Append(std::string_view line, Batch* batch, std::string* why) override {
    DataRow row;
    *why = parser_.Parse(line, &row);
    if (!why->empty()) return LineKind::kBad;
    features_->Append(row, batch);
    return LineKind::kSample;
  }
  void AppendMissing(Batch* batch) override {
    DataRow row;
    parser_.MakeMissing(&row);
    features_->Append(row, batch);
  }

 private:
  CsvRowParser parser_;
  std::shared_ptr<const FeatureEncoder> features_;
};

Status CheckFeatures(const std::vector<FeatureSpec>& expected,
                     const std::vector<FittedFeature>& features) {
  if (RawLayoutOf(features).has_value()) {
    return Invalid(
        "the model was trained with data.format = \"raw\": expected rows of that format, found "
        "text: use the job file that trained it");
  }
  const size_t common = std::min(expected.size(), features.size());
  for (size_t i = 0; i < common; ++i) {
    if (features[i].spec == expected[i]) continue;
    return Invalid(fmt::format(
        "[[feature]]: feature {} is {} in the job file, but {} in the model: use the job file that "
        "trained it",
        i + 1, FeatureText(expected[i]), FeatureText(features[i].spec)));
  }
  if (expected.size() == features.size()) return {};
  return Invalid(
      fmt::format("[[feature]]: the job file has {}, but the model was trained with {}: "
                  "use the job file that trained it",
                  Counted(expected.size(), "feature"), features.size()));
}

}  // namespace

Result<std::unique_ptr<BatchSource>> MakeCsvBatches(Disk& disk, CsvFiles files,
                                                    const DataSpec& spec,
                                                    const TextOptions& options,
                                                    std::vector<FittedFeature> features) {
  STRATA_TRY(CheckFeatures(spec.features, features));
  const auto encoder = std::make_shared<const FeatureEncoder>(std::move(features), files.plan);
  return TextBatches::Make(disk, std::move(files.texts), std::move(files.advice),
                           spec.format.bad_share_max, options, [&] {
                             return std::make_unique<CsvEncoder>(
                                 CsvRowParser(spec, files.plan, options.labels_required), encoder);
                           });
}

}  // namespace strata
