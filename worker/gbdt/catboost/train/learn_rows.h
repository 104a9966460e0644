// LearnRows: the rows of a file that CatBoost's trees are trained from, or measured on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/file/disk.h"
#include "base/thread/work_pool.h"
#include "strata/status.h"
#include "worker/gbdt/catboost/catboost_model.h"
#include "worker/gbdt/catboost/catboost_rows.h"
#include "worker/gbdt/catboost/pool_file.h"
#include "worker/gbdt/catboost/train/class_labels.h"
#include "worker/gbdt/catboost/train/fit_parameters.h"

namespace strata {

struct LearnRows {
  std::vector<CatBoostRows> blocks;  // as they stand in the file, one after another
  std::vector<float> labels;         // of classes the numbers of their outputs
  std::vector<float> weights;        // 1 where no column has weights
  size_t columns = 0;                // of the file, or of a job's features
  uint64_t bad_rows = 0;             // of a job, which are left out: they cannot be read
  ClassLabels classes;               // of a loss of classes, as the rows to learn from have them

  size_t rows() const { return labels.size(); }
};

// What rows are read with; all of it outlives the call.
struct LearnReader {
  Disk& disk;
  WorkPool& pool;
  std::function<Status()> check;  // not OK: stop
  const FitParameters& parameters;
};

// The rows that a training learns from. `model`, an empty one, gets a number or a category for each
// of their features. kInvalid names the file, and the line or column: no label or several, what
// training does not take into account (groups), labels that do not fit the loss, missing labels,
// negative weights or a sum of 0, missing values where nan_mode is Forbidden, 2^32 rows or more.
Result<LearnRows> ReadRowsToLearn(const LearnReader& reader, const PoolOptions& options,
                                  CatBoostModel* model);

// What rows to measure on have in common with those that were learned from.
struct LearnedColumns {
  size_t columns = 0;  // LearnRows::columns
  const ClassLabels& classes;
  std::span<const uint32_t> categories;  // of the model, that statistics are of
};

// Rows of the same columns and classes, and of the features that the model names; errors as above,
// and kInvalid for another number of columns. Of numbers without borders nothing is read, nor of
// categories without values in the model or statistics.
Result<LearnRows> ReadRowsToTest(const LearnReader& reader, const PoolOptions& options,
                                 const CatBoostModel& model, const LearnedColumns& learned);

}  // namespace strata
