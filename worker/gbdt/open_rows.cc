#include "worker/gbdt/open_rows.h"

#include <fmt/format.h>

#include "worker/gbdt/data/dataset_file.h"
#include "worker/gbdt/data/job_rows.h"
#include "worker/gbdt/data/npy_rows.h"
#include "worker/gbdt/data/text_rows.h"

namespace strata {
namespace {

// `known`: the texts of categories that have numbers already; null: none have.
Result<std::unique_ptr<RowSource>> Open(Disk& disk, const TreeParameters& parameters,
                                        const std::string& path, const CategoryTexts* known,
                                        const ExpectedFeatures* expected) {
  const bool predicts = parameters.task == "predict";
  if (parameters.columns.has_value()) {
    STRATA_ASSIGN(
        std::unique_ptr<JobRows> rows,
        JobRows::Open(disk, path, *parameters.columns,
                      {.known = known, .expected = expected, .labels_required = !predicts}));
    return std::unique_ptr<RowSource>(std::move(rows));
  }
  const ColumnChoice columns = {.header = parameters.header,
                                .label = parameters.label_column,
                                .weight = parameters.weight_column,
                                .query = parameters.group_column,
                                .ignored = parameters.ignore_column,
                                .expected = expected,
                                .predicts = predicts,
                                .any_width = predicts && parameters.predict_disable_shape_check};
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
                                            const std::string& path) {
  return Open(disk, parameters, path, nullptr, nullptr);
}

Result<std::unique_ptr<RowSource>> OpenRowsLike(Disk& disk, const TreeParameters& parameters,
                                                const std::string& path,
                                                const FeatureBinning& features) {
  ExpectedFeatures expected = {.names = features.names, .needed = {}, .owner = "the training data"};
  for (const BinMapper& mapper : features.mappers) {
    expected.needed.push_back(mapper.is_used());
  }
  return Open(disk, parameters, path, &features.categories, &expected);
}

Result<std::unique_ptr<RowSource>> OpenRowsOf(Disk& disk, const TreeParameters& parameters,
                                              const std::string& path, const TreeModel& model) {
  ExpectedFeatures expected = {.names = model.feature_names,
                               .needed = {},
                               .owner = fmt::format("the model {}", parameters.input_model)};
  for (size_t f = 0; f < model.features(); ++f) {
    expected.needed.push_back(f >= model.feature_infos.size() || model.feature_infos[f] != "none");
  }
  CategoryTexts categories;
  if (parameters.columns.has_value()) {
    STRATA_ASSIGN(categories, ReadCategoryTexts(model.pandas_categorical));
  }
  return Open(disk, parameters, path, &categories, &expected);
}

}  // namespace strata
