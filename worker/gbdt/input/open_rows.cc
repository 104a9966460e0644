#include "worker/gbdt/input/open_rows.h"

#include <fmt/format.h>

#include <set>
#include <string_view>

#include "base/human_text.h"
#include "base/log.h"
#include "worker/gbdt/data/dataset_file.h"
#include "worker/gbdt/data/job_rows.h"
#include "worker/gbdt/data/npy_rows.h"
#include "worker/gbdt/data/text_rows.h"

namespace strata {
namespace {

// `known`: the texts of categories that have numbers already; null: none have.
Result<std::unique_ptr<RowSource>> Open(Disk& disk, const DataParameters& parameters,
                                        const std::string& path, const CategoryTexts* known,
                                        const ExpectedFeatures* expected, const RowsOfModel& use) {
  if (parameters.columns.has_value()) {
    STRATA_ASSIGN(
        std::unique_ptr<JobRows> rows,
        JobRows::Open(disk, path, *parameters.columns,
                      {.known = known, .expected = expected, .labels_required = !use.predicts}));
    return std::unique_ptr<RowSource>(std::move(rows));
  }
  const ColumnChoice columns = {.header = parameters.header,
                                .label = parameters.label_column,
                                .weight = parameters.weight_column,
                                .query = parameters.group_column,
                                .ignored = parameters.ignore_column,
                                .expected = expected,
                                .predicts = use.predicts,
                                .any_width = use.any_width};
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

// Only a job file, or a data frame in Python, says which text each number stands for.
void WarnOfTexts(const CategoryTexts& categories, const ExpectedFeatures& expected,
                 const std::string& path) {
  for (const std::vector<std::string>& texts : categories) {
    if (texts.empty()) continue;
    Log(LogLevel::kWarning,
        "{}: categories of {} are texts; numbers here count as their places, 0 as '{}': a job file "
        "reads the texts themselves",
        path, expected.owner, ShownBytes(texts[0]));
    return;
  }
}

}  // namespace

Result<std::unique_ptr<RowSource>> OpenRows(Disk& disk, const DataParameters& parameters,
                                            const std::string& path) {
  return Open(disk, parameters, path, nullptr, nullptr, {});
}

Result<std::unique_ptr<RowSource>> OpenRowsLike(Disk& disk, const DataParameters& parameters,
                                                const std::string& path,
                                                const FeatureBinning& features) {
  ExpectedFeatures expected = {.names = features.names, .needed = {}, .owner = "the training data"};
  for (const BinMapper& mapper : features.mappers) {
    expected.needed.push_back(mapper.is_used());
    expected.kinds.push_back(!mapper.is_used()            ? KnownKind::kUnknown
                             : mapper.shape().categorical ? KnownKind::kCategory
                                                          : KnownKind::kNumber);
  }
  return Open(disk, parameters, path, &features.categories, &expected, {});
}

Result<std::unique_ptr<RowSource>> OpenRowsOf(Disk& disk, const DataParameters& parameters,
                                              const std::string& path, const TreeModel& model,
                                              const RowsOfModel& use) {
  ExpectedFeatures expected = {.names = model.feature_names,
                               .needed = {},
                               .owner = fmt::format("the model {}", use.model_file)};
  for (size_t f = 0; f < model.features(); ++f) {
    const std::string info = f < model.feature_infos.size() ? model.feature_infos[f] : "";
    expected.needed.push_back(info != "none");
    expected.kinds.push_back(info.empty() || info == "none" ? KnownKind::kUnknown
                             : info.starts_with('[')        ? KnownKind::kNumber
                                                            : KnownKind::kCategory);
  }
  const std::set<std::string_view> names(expected.names.begin(), expected.names.end());
  if (names.size() < expected.names.size() && parameters.header) {
    Log(LogLevel::kWarning, "{}: {} has a name for two features: columns count by their places",
        path, expected.owner);
  }
  STRATA_ASSIGN(const CategoryTexts categories, ReadCategoryTexts(model.pandas_categorical));
  if (!parameters.columns.has_value()) WarnOfTexts(categories, expected, path);
  return Open(disk, parameters, path, &categories, &expected, use);
}

}  // namespace strata
