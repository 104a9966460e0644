#include "worker/gbdt/data/job_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "worker/gbdt/data/bin_mapper.h"

namespace strata {
namespace {

constexpr size_t kBlockRows = 4096;
constexpr size_t kTextsMax = 1 << 20;  // of one feature
constexpr size_t kNone = static_cast<size_t>(-1);

}  // namespace

Result<std::unique_ptr<JobRows>> JobRows::Open(Disk& disk, const std::string& path,
                                               const DataSpec& spec, const CategoryTexts* known,
                                               bool labels_required) {
  CsvOptions options;
  options.labels_required = labels_required;
  STRATA_ASSIGN(std::unique_ptr<CsvReader> reader, CsvReader::Open(disk, path, spec, options));
  std::unique_ptr<JobRows> rows(new JobRows(std::move(reader)));
  size_t lists = 0;
  for (const FeatureSpec& feature : spec.features) {
    rows->list_of_.push_back(feature.kind == FeatureKind::kCategorical ? lists++ : kNone);
  }
  if (known != nullptr && known->size() != lists) {
    return Invalid(fmt::format("{}: the job has {} categorical features, the model {}", path, lists,
                               known->size()));
  }
  if (known != nullptr) {
    rows->texts_ = *known;
  } else {
    rows->texts_.resize(lists);
    if (lists > 0) STRATA_TRY(rows->FindTexts(path));
  }
  rows->numbers_.resize(lists);
  for (size_t list = 0; list < lists; ++list) {
    const std::vector<std::string>& texts = rows->texts_[list];
    for (size_t i = 0; i < texts.size(); ++i) rows->numbers_[list].emplace(texts[i], i);
  }
  return rows;
}

// Sorted, so that numbers do not depend on the order of the rows.
Status JobRows::FindTexts(const std::string& path) {
  std::vector<std::set<std::string, std::less<>>> found(texts_.size());
  CsvRow row;
  while (true) {
    STRATA_ASSIGN(const bool read, reader_->Next(&row));
    if (!read) break;
    for (size_t feature = 0; feature < list_of_.size(); ++feature) {
      if (list_of_[feature] == kNone) continue;
      const std::string_view text = row.fields[reader_->plan().feature_columns[feature]];
      auto& texts = found[list_of_[feature]];
      if (!text.empty() && !texts.contains(text)) texts.emplace(text);
      if (texts.size() > kTextsMax) {
        return Invalid(fmt::format(
            "{}: column '{}' holds more than {} different texts: trees cannot use it as a category",
            path, reader_->spec().features[feature].column, kTextsMax));
      }
    }
  }
  for (size_t list = 0; list < found.size(); ++list) {
    texts_[list].assign(found[list].begin(), found[list].end());
  }
  reader_->Rewind();
  return {};
}

double JobRows::ValueOf(size_t feature, const CsvRow& row) const {
  const size_t column = reader_->plan().feature_columns[feature];
  const size_t list = list_of_[feature];
  if (list == kNone) return row.numbers[column];
  const auto number = numbers_[list].find(row.fields[column]);
  if (number == numbers_[list].end()) return std::numeric_limits<double>::quiet_NaN();
  return static_cast<double>(number->second);
}

Status JobRows::Next(SparseRows* block) {
  block->Clear();
  CsvRow row;
  while (block->rows() < kBlockRows) {
    STRATA_ASSIGN(const bool read, reader_->Next(&row));
    if (!read) break;
    for (size_t feature = 0; feature < list_of_.size(); ++feature) {
      const double value = ValueOf(feature, row);
      if (!std::isnan(value) && std::fabs(value) <= kZeroThreshold) continue;
      block->columns.push_back(static_cast<uint32_t>(feature));
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
  return {};
}

// A text model separates names by blanks, and LightGBM refuses what JSON is made of.
std::vector<std::string> JobRows::FeatureNames() const {
  std::vector<std::string> names;
  for (const FeatureSpec& feature : reader_->spec().features) {
    names.push_back(feature.column);
    std::ranges::replace_if(
        names.back(),
        [](char c) { return std::string_view(" \t\",:[]{}").find(c) != std::string_view::npos; },
        '_');
  }
  return names;
}

}  // namespace strata
