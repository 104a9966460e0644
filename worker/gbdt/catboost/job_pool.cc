#include "worker/gbdt/catboost/job_pool.h"

#include <algorithm>

#include "worker/gbdt/catboost/category_hash.h"
#include "worker/gbdt/catboost/pool_file.h"

namespace strata {
namespace {

constexpr size_t kBlockRows = 4096;

}  // namespace

// The features of a block, column by column, while its number of rows is not known yet.
struct JobPool::Columns {
  std::vector<std::vector<float>> numbers;
  std::vector<std::vector<uint32_t>> categories;
};

Result<std::unique_ptr<JobPool>> JobPool::Open(Disk& disk, const std::string& path,
                                               const DataSpec& spec, bool has_labels) {
  TextOptions options;
  options.labels_required = has_labels;
  options.keep_bad_rows = !has_labels;
  options.log_bad_lines = has_labels;
  STRATA_ASSIGN(std::unique_ptr<CsvReader> reader, CsvReader::Open(disk, path, spec, options));
  return std::unique_ptr<JobPool>(new JobPool(std::move(reader), has_labels));
}

std::vector<PoolColumn> JobPool::Features() const {
  std::vector<PoolColumn> columns;
  for (const FeatureSpec& feature : reader_->spec().features) {
    const bool is_category = feature.kind == FeatureKind::kCategorical;
    columns.push_back({.kind = is_category ? PoolColumnKind::kCategory : PoolColumnKind::kNumber,
                       .name = feature.column});
  }
  return columns;
}

void JobPool::Add(const DataRow& row, Columns* columns, JobBlock* block) const {
  const std::vector<FeatureSpec>& features = reader_->spec().features;
  for (size_t f = 0; f < features.size(); ++f) {
    if (!places_[f].is_read) continue;
    const size_t column = reader_->plan().feature_columns[f];
    if (features[f].kind == FeatureKind::kCategorical) {
      columns->categories[places_[f].feature].push_back(CategoryHash(row.fields[column]));
    } else {
      columns->numbers[places_[f].feature].push_back(PoolFloat(row.numbers[column]));
    }
  }
  if (!has_labels_) return;
  const bool is_text = reader_->spec().label_positive.empty();
  const std::string_view label = row.fields[reader_->plan().label];
  block->labels.emplace_back(is_text ? label : row.label > 0 ? "1" : "0");
  block->weights.push_back(row.weight);
  block->offsets.push_back(row.offset);
}

Result<JobBlock> JobPool::Next(const CatBoostModel& model) {
  JobBlock block = {.labels = {}, .weights = {}, .offsets = {}, .features = {model, 0}, .bad = {}};
  Columns columns = {.numbers = std::vector<std::vector<float>>(model.numbers.size()),
                     .categories = std::vector<std::vector<uint32_t>>(model.categories.size())};
  DataRow row;
  size_t rows = 0;
  for (; rows < kBlockRows; ++rows) {
    STRATA_ASSIGN(const bool is_read, reader_->Next(&row));
    if (!is_read) break;
    if (!row.bad.empty()) block.bad.push_back({rows, std::string(row.bad)});
    Add(row, &columns, &block);
  }
  block.features = CatBoostRows(model, rows);
  // Features that the model does not use have no column.
  for (size_t f = 0; f < columns.numbers.size(); ++f) {
    if (rows > 0) std::ranges::copy(columns.numbers[f], block.features.Number(f).begin());
  }
  for (size_t c = 0; c < columns.categories.size(); ++c) {
    if (rows > 0) std::ranges::copy(columns.categories[c], block.features.Category(c).begin());
  }
  return block;
}

}  // namespace strata
