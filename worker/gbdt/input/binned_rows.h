// Rows from a file that save_binary left, as a task's parameters ask for them.
#pragma once

#include <memory>
#include <string>

#include "base/file/disk.h"
#include "base/thread/work_pool.h"
#include "strata/status.h"
#include "worker/gbdt/data/tree_dataset.h"
#include "worker/gbdt/parameters/data_parameters.h"
#include "worker/gbdt/parameters/task_parameters.h"

namespace strata {

// The keys that say which columns rows are read from, as in "header = true, label_column = 2". "":
// none is set, or a job file names the columns.
std::string ColumnsText(const DataParameters& parameters);

// As ReadDatasetFile. kInvalid besides: training over ranks or from a model, or a side file that
// would belong to the file.
Result<TreeDataset> ReadBinnedRows(Disk& disk, const std::string& path, const TaskParameters& task,
                                   const DatasetOptions& options,
                                   std::shared_ptr<const FeatureBinning> features, WorkPool& pool);

}  // namespace strata
