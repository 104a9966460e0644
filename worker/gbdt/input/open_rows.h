// OpenRows: the rows of a data file in the format that it has.
#pragma once

#include <memory>
#include <string>

#include "base/file/disk.h"
#include "strata/status.h"
#include "worker/gbdt/data/row_source.h"
#include "worker/gbdt/data/tree_dataset.h"
#include "worker/gbdt/model/tree_model.h"
#include "worker/gbdt/parameters/data_parameters.h"

namespace strata {

// The format of a data file follows from the job file, if there is one; else .npy files are NumPy
// arrays, and all others are text, with columns as the parameters name them.

// Training data, which says itself which features there are.
Result<std::unique_ptr<RowSource>> OpenRows(Disk& disk, const DataParameters& parameters,
                                            const std::string& path);

// Validation data: columns are matched with the features of training data, by name where both sides
// have names. kInvalid names the columns that were expected and found.
Result<std::unique_ptr<RowSource>> OpenRowsLike(Disk& disk, const DataParameters& parameters,
                                                const std::string& path,
                                                const FeatureBinning& features);

// What rows are read for, besides the model.
struct RowsOfModel {
  std::string model_file;  // for messages
  bool predicts = false;   // no labels are needed, and nobody reads those that are there
  bool any_width = false;  // features that the model does not know are passed over
};

// Data to use a model with; columns are matched likewise. kCorrupt: the model's categories cannot
// be read.
Result<std::unique_ptr<RowSource>> OpenRowsOf(Disk& disk, const DataParameters& parameters,
                                              const std::string& path, const TreeModel& model,
                                              const RowsOfModel& use);

}  // namespace strata
