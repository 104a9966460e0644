#include "worker/gbdt/catboost/train/job_learn_rows.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "worker/gbdt/catboost/job_pool.h"
#include "worker/gbdt/catboost/train/label_column.h"
#include "worker/gbdt/catboost/train/row_checks.h"

namespace strata {
namespace {

// The job's data with the kind of labels that the loss has.
Result<std::unique_ptr<JobPool>> Open(const LearnReader& reader, const PoolOptions& options) {
  DataSpec spec = *options.of_job;
  const bool is_class = HasClasses(reader.parameters.loss.type) && spec.label_positive.empty();
  spec.label_is_text = is_class;
  spec.label_is_number = !is_class && spec.label_positive.empty();
  return JobPool::Open(reader.disk, options.path, spec, true);
}

Status AddBlock(const LearnReader& reader, const CatBoostModel& model, const std::string& path,
                JobBlock block, LabelColumn* labels, LearnRows* rows) {
  for (size_t row = 0; row < block.labels.size(); ++row) {
    Status fits = labels->Read(block.labels[row], &rows->labels.emplace_back());
    if (fits.ok()) fits = CheckMissing(reader.parameters, model, block.features, row);
    if (fits.ok()) continue;
    return fits.Prefixed(fmt::format("{}: the line at byte {}", path, block.offsets[row]));
  }
  STRATA_TRY(CheckRowCount(rows->rows(), path));
  rows->weights.insert(rows->weights.end(), block.weights.begin(), block.weights.end());
  rows->blocks.push_back(std::move(block.features));
  return {};
}

Result<LearnRows> ReadAll(const LearnReader& reader, JobPool* pool, const CatBoostModel& model,
                          LabelColumn&& labels, const std::string& path) {
  LearnRows rows;
  while (true) {
    STRATA_TRY(reader.check());
    STRATA_ASSIGN(JobBlock block, pool->Next(model));
    if (block.features.rows() == 0) break;
    STRATA_TRY(AddBlock(reader, model, path, std::move(block), &labels, &rows));
  }
  if (rows.rows() == 0) return Invalid(fmt::format("{}: holds no rows", path));
  STRATA_TRY(FinishRows(std::move(labels), path, &rows));
  rows.columns = pool->Features().size();
  rows.bad_rows = pool->bad_rows();
  return rows;
}

}  // namespace

Result<LearnRows> ReadJobRowsToLearn(const LearnReader& reader, const PoolOptions& options,
                                     CatBoostModel* model) {
  STRATA_ASSIGN(const std::unique_ptr<JobPool> pool, Open(reader, options));
  pool->SetPlaces(AddFeatures(pool->Features(), model));
  return ReadAll(reader, pool.get(), *model, LabelColumn(reader.parameters), options.path);
}

Result<LearnRows> ReadJobRowsToTest(const LearnReader& reader, const PoolOptions& options,
                                    const CatBoostModel& model, const LearnedColumns& learned) {
  STRATA_ASSIGN(const std::unique_ptr<JobPool> pool, Open(reader, options));
  STRATA_ASSIGN(std::vector<ModelColumn> places,
                MatchColumns(model, pool->Features(), options.path, learned.categories));
  pool->SetPlaces(std::move(places));
  return ReadAll(reader, pool.get(), model, LabelColumn(reader.parameters, learned.classes),
                 options.path);
}

}  // namespace strata
