#include "worker/gbdt/open_rows.h"

#include <fmt/format.h>

#include <optional>

#include "worker/gbdt/data/dataset_file.h"
#include "worker/gbdt/data/job_rows.h"
#include "worker/gbdt/data/npy_rows.h"
#include "worker/gbdt/data/text_rows.h"

namespace strata {
namespace {

Result<std::unique_ptr<RowSource>> Open(Disk& disk, const TreeParameters& parameters,
                                        const std::string& path, const CategoryTexts* known,
                                        std::optional<size_t> predicted_features) {
  if (parameters.columns.has_value()) {
    STRATA_ASSIGN(
        std::unique_ptr<JobRows> rows,
        JobRows::Open(disk, path, *parameters.columns, known, parameters.task != "predict"));
    return std::unique_ptr<RowSource>(std::move(rows));
  }
  const ColumnChoice columns = {.header = parameters.header,
                                .label = parameters.label_column,
                                .weight = parameters.weight_column,
                                .query = parameters.group_column,
                                .ignored = parameters.ignore_column,
                                .predicted_features = predicted_features};
  STRATA_ASSIGN(const bool is_binned, IsDatasetFile(disk, path));
  if (is_binned) {
    return Invalid(fmt::format(
        "{}: a file of save_binary holds bins, not values: give the data that it was made of",
        path));
  }
  if (path.ends_with(".npy")) {
    STRATA_ASSIGN(std::unique_ptr<NpyRows> rows, NpyRows::Open(disk, path, columns));
    return std::unique_ptr<RowSource>(std::move(rows));
  }
  STRATA_ASSIGN(std::unique_ptr<TextRows> rows, TextRows::Open(disk, path, columns));
  return std::unique_ptr<RowSource>(std::move(rows));
}

}  // namespace

Result<std::unique_ptr<RowSource>> OpenRows(Disk& disk, const TreeParameters& parameters,
                                            const std::string& path, const CategoryTexts* known) {
  return Open(disk, parameters, path, known, std::nullopt);
}

Result<std::unique_ptr<RowSource>> OpenRowsOf(Disk& disk, const TreeParameters& parameters,
                                              const std::string& path, const TreeModel& model) {
  CategoryTexts categories;
  if (parameters.columns.has_value()) {
    STRATA_ASSIGN(categories, ReadCategoryTexts(model.pandas_categorical));
  }
  std::optional<size_t> predicted_features;
  if (parameters.task == "predict") predicted_features = model.features();
  return Open(disk, parameters, path, &categories, predicted_features);
}

}  // namespace strata
