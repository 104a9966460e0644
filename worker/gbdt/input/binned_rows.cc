#include "worker/gbdt/input/binned_rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "worker/gbdt/data/dataset_file.h"

namespace strata {

std::string ColumnsText(const DataParameters& p) {
  if (p.columns.has_value()) return "";
  std::string text;
  const auto add = [&](const char* key, const std::string& value) {
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", key, value);
  };
  if (p.header) add("header", "true");
  // The first column is the label where none is named.
  if (!p.label_column.empty() && p.label_column != "0") add("label_column", p.label_column);
  if (!p.weight_column.empty()) add("weight_column", p.weight_column);
  if (!p.group_column.empty()) add("group_column", p.group_column);
  if (!p.ignore_column.empty()) {
    add("ignore_column", fmt::format("{}", fmt::join(p.ignore_column, ",")));
  }
  return text;
}

Result<TreeDataset> ReadBinnedRows(Disk& disk, const std::string& path, const TaskParameters& task,
                                   const DatasetOptions& options,
                                   std::shared_ptr<const FeatureBinning> features, WorkPool& pool) {
  if (options.group != nullptr || options.feature_ranks > 1) {
    return Invalid(fmt::format("{}: a file of save_binary belongs to one process", path));
  }
  if (!task.input_model.empty()) {
    return Invalid(fmt::format(
        "{}: a file of save_binary has bins alone: input_model needs the data itself", path));
  }
  for (const char* ending : {".weight", ".query", ".init"}) {
    const Status opened = disk.OpenToRead(path + ending).status();
    if (opened.code() == StatusCode::kNotFound) continue;
    return Invalid(fmt::format(
        "{}{}: weights, queries and scores to start from are in the file of save_binary itself: "
        "put them beside the data, and save it again",
        path, ending));
  }
  return ReadDatasetFile(disk, path, options, std::move(features), pool);
}

}  // namespace strata
