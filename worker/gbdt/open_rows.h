// OpenRows: the rows of a data file in the format that it has.
#pragma once

#include <memory>
#include <string>

#include "base/disk.h"
#include "base/status.h"
#include "worker/gbdt/data/row_source.h"
#include "worker/gbdt/model/tree_model.h"
#include "worker/gbdt/parameters.h"

namespace strata {

// Of a job file as it says; else NumPy arrays by their suffix .npy, everything else as text,
// columns as the parameters name them. `known`: the texts of a model's categories; null: there are
// none yet. To predict, a job's data needs no labels.
Result<std::unique_ptr<RowSource>> OpenRows(Disk& disk, const TreeParameters& parameters,
                                            const std::string& path, const CategoryTexts* known);

// The same to use a model with. A file to predict for has no label if it has as many columns as the
// model has features, or if its first word is a libsvm pair; nobody reads one that is there.
// kCorrupt: the model's categories cannot be read.
Result<std::unique_ptr<RowSource>> OpenRowsOf(Disk& disk, const TreeParameters& parameters,
                                              const std::string& path, const TreeModel& model);

}  // namespace strata
