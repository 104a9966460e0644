#include "worker/gbdt/data/job_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/file/text_file.h"
#include "base/human_text.h"
#include "base/log.h"
#include "worker/gbdt/data/bin_mapper.h"
#include "worker/gbdt/data/divided_rows.h"
#include "worker/gbdt/data/feature_names.h"

namespace strata {
namespace {

constexpr size_t kBlockRows = 4096;
constexpr size_t kTextsMax = 1 << 20;  // of one feature
constexpr size_t kNone = static_cast<size_t>(-1);

std::vector<std::string> ColumnsOf(const std::vector<FeatureSpec>& features) {
  std::vector<std::string> names;
  for (const FeatureSpec& feature : features) names.push_back(feature.column);
  return names;
}

// A job's features, in the order of their numbers.
struct NumberedFeatures {
  std::vector<FeatureSpec> features;
  std::vector<uint32_t> numbers;
};

// Those of a model or of training data, by their names.
Result<NumberedFeatures> MatchByName(const std::vector<FeatureSpec>& features,
                                     const ExpectedFeatures& expected, const std::string& path) {
  const std::vector<std::string> names = ColumnsOf(features);
  Result<std::vector<std::string>> of_model = ModelFeatureNames(names);
  if (!of_model.ok()) return of_model.status().Prefixed(path);
  NumberedFeatures matched;
  bool has_all = true;
  for (uint32_t f = 0; f < expected.names.size(); ++f) {
    const auto found = std::ranges::find(*of_model, expected.names[f]);
    if (found != of_model->end()) {
      matched.features.push_back(features[static_cast<size_t>(found - of_model->begin())]);
      matched.numbers.push_back(f);
    } else if (expected.needed[f]) {
      has_all = false;
    }
  }
  if (has_all && matched.features.size() == features.size()) return matched;
  return Invalid(fmt::format("{}: expected the {} of {}, the job has {}: {}", path, expected.Text(),
                             expected.owner, features.size(), ShownNames(names)));
}

// Whether a job reads a feature as a model knows it; `has_texts`: the model knows texts of
// categories.
Status CheckKind(const FeatureSpec& feature, KnownKind known, bool has_texts,
                 const std::string& owner) {
  const bool is_category = feature.kind == FeatureKind::kCategorical;
  const auto wrong = [&](const char* there, const char* kind) {
    return Invalid(fmt::format("column '{}' is {} in the job, and {} in {}: expected kind = \"{}\"",
                               feature.column, FeatureKindName(feature.kind), there, owner, kind));
  };
  if (is_category && known == KnownKind::kNumber) return wrong("a number", "numeric");
  if (is_category && known == KnownKind::kCategory && !has_texts) {
    return wrong("a category whose values are numbers, not texts,", "numeric");
  }
  if (!is_category && known == KnownKind::kCategory && has_texts) {
    return wrong("a category", "categorical");
  }
  return {};
}

Status CheckKinds(const NumberedFeatures& matched, const JobRowsChoice& choice) {
  if (choice.known == nullptr || choice.expected == nullptr || choice.expected->kinds.empty()) {
    return {};
  }
  for (size_t i = 0; i < matched.features.size(); ++i) {
    STRATA_TRY(CheckKind(matched.features[i], choice.expected->kinds[matched.numbers[i]],
                         !choice.known->empty(), choice.expected->owner));
  }
  return {};
}

Result<NumberedFeatures> Match(const std::vector<FeatureSpec>& features,
                               const ExpectedFeatures* expected, const std::string& path) {
  if (expected != nullptr && expected->MatchByName(ColumnsOf(features))) {
    return MatchByName(features, *expected, path);
  }
  if (expected != nullptr && expected->names.size() != features.size()) {
    return Invalid(fmt::format("{}: expected the {} of {}, the job has {}", path, expected->Text(),
                               expected->owner, features.size()));
  }
  NumberedFeatures matched = {.features = features, .numbers = {}};
  for (uint32_t f = 0; f < features.size(); ++f) matched.numbers.push_back(f);
  return matched;
}

}  // namespace

Result<std::unique_ptr<JobRows>> JobRows::Open(Disk& disk, const std::string& path,
                                               const DataSpec& spec, const JobRowsChoice& choice) {
  STRATA_ASSIGN(NumberedFeatures matched, Match(spec.features, choice.expected, path));
  STRATA_TRY(CheckKinds(matched, choice).Prefixed(path));
  DataSpec ordered = spec;
  ordered.features = std::move(matched.features);
  TextOptions options;
  options.labels_required = choice.labels_required;
  options.keep_bad_rows = true;
  options.log_bad_lines = choice.labels_required;
  STRATA_ASSIGN(std::unique_ptr<CsvReader> reader, CsvReader::Open(disk, path, ordered, options));
  std::unique_ptr<JobRows> rows(new JobRows(std::move(reader), path, !choice.labels_required));
  rows->feature_of_ = std::move(matched.numbers);
  rows->names_ = choice.expected != nullptr ? choice.expected->names : ColumnsOf(ordered.features);
  size_t lists = 0;
  for (const FeatureSpec& feature : ordered.features) {
    rows->list_of_.push_back(feature.kind == FeatureKind::kCategorical ? lists++ : kNone);
  }
  if (choice.known != nullptr && choice.known->size() != lists) {
    return Invalid(fmt::format("{}: the job has {}, the model {}", path,
                               Counted(lists, "categorical feature"), choice.known->size()));
  }
  rows->texts_ = choice.known != nullptr ? *choice.known : CategoryTexts(lists);
  rows->NumberTexts();
  return rows;
}

void JobRows::NumberTexts() {
  numbers_.assign(texts_.size(), {});
  for (size_t list = 0; list < texts_.size(); ++list) {
    for (size_t i = 0; i < texts_[list].size(); ++i) numbers_[list].emplace(texts_[list][i], i);
  }
}

// Sorted, so that numbers do not depend on the order of the rows, nor on who has which.
Status JobRows::FindCategories(Group* group) {
  if (texts_.empty()) return {};
  CategoryTextSets found(texts_.size());
  STRATA_TRY(ReadTexts(&found));
  if (group != nullptr) STRATA_TRY(JoinTexts(*group, &found));
  for (size_t list = 0; list < found.size(); ++list) {
    std::vector<std::string>& texts = texts_[list];
    const Status fits = CheckCount(list, texts.size() + found[list].size());
    if (!fits.ok()) return group == nullptr ? fits : FailTogether(*group, fits);
    texts.insert(texts.end(), found[list].begin(), found[list].end());
  }
  NumberTexts();
  return Rewind();
}

// Those that have no number yet.
Status JobRows::ReadTexts(CategoryTextSets* found) {
  reader_->Rewind();
  DataRow row;
  while (true) {
    STRATA_ASSIGN(const bool read, reader_->Next(&row));
    if (!read) return {};
    if (!row.bad.empty()) continue;
    for (size_t feature = 0; feature < list_of_.size(); ++feature) {
      const size_t list = list_of_[feature];
      if (list == kNone) continue;
      const std::string_view text = row.fields[reader_->plan().feature_columns[feature]];
      auto& texts = (*found)[list];
      if (text.empty() || numbers_[list].contains(text) || texts.contains(text)) continue;
      if (!IsUtf8(text)) {
        return Invalid(fmt::format(
            "{}: column '{}': the category in the line at byte {} is no UTF-8 text, and "
            "a model cannot keep it: convert the file",
            path_, reader_->spec().features[feature].column, row.offset));
      }
      texts.emplace(text);
      STRATA_TRY(CheckCount(list, texts.size() + texts_[list].size()));
    }
  }
}

Status JobRows::CheckCount(size_t list, size_t texts) const {
  if (texts <= kTextsMax) return {};
  const auto feature = static_cast<size_t>(std::ranges::find(list_of_, list) - list_of_.begin());
  return Invalid(fmt::format(
      "{}: column '{}' holds more than {} different texts: trees cannot use it as a category",
      path_, reader_->spec().features[feature].column, kTextsMax));
}

void JobRows::WarnOfBytes(size_t feature, const DataRow& row) {
  if (warned_ || IsUtf8(row.fields[reader_->plan().feature_columns[feature]])) return;
  warned_ = true;
  Log(LogLevel::kWarning,
      "{}: column '{}': the category in the line at byte {} is no UTF-8 text, which no model "
      "knows: such texts count as missing values; convert the file",
      path_, reader_->spec().features[feature].column, row.offset);
}

double JobRows::ValueOf(size_t feature, const DataRow& row) {
  const size_t column = reader_->plan().feature_columns[feature];
  const size_t list = list_of_[feature];
  if (list == kNone) return row.numbers[column];
  const auto number = numbers_[list].find(row.fields[column]);
  if (number == numbers_[list].end()) {
    WarnOfBytes(feature, row);
    return std::numeric_limits<double>::quiet_NaN();
  }
  return static_cast<double>(number->second);
}

Status JobRows::Next(SparseRows* block) {
  block->Clear();
  DataRow row;
  while (block->rows() < kBlockRows) {
    if (part_.rows.has_value() && rows_seen_ >= part_.skip + *part_.rows) return {};
    STRATA_ASSIGN(const bool read, reader_->Next(&row));
    if (!read) break;
    if (!row.bad.empty()) {
      if (rows_seen_ >= part_.skip) block->bad.push_back({block->rows(), std::string(row.bad)});
      if (!keeps_bad_) continue;
    }
    if (rows_seen_++ < part_.skip) continue;
    for (size_t feature = 0; feature < list_of_.size(); ++feature) {
      const double value = ValueOf(feature, row);
      if (!std::isnan(value) && std::fabs(value) <= kZeroThreshold) continue;
      block->columns.push_back(feature_of_[feature]);
      block->values.push_back(value);
    }
    block->begins.push_back(block->values.size());
    block->labels.push_back(row.label);
    if (!reader_->spec().weight.empty()) block->weights.push_back(row.weight);
    if (!reader_->spec().query.empty()) block->queries.push_back(row.query);
  }
  return {};
}

Status JobRows::Rewind() {
  reader_->Rewind();
  rows_seen_ = 0;
  return {};
}

Status JobRows::TakePart(const RowPart& part) {
  part_ = part;
  STRATA_TRY(reader_->TakeShare(part.share, part.rows.has_value()));
  return Rewind();
}

}  // namespace strata
