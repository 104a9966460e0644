// LabelColumn: the labels of rows, as the loss of a training has them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/thread/mutex.h"
#include "strata/status.h"
#include "worker/gbdt/catboost/train/class_labels.h"
#include "worker/gbdt/catboost/train/fit_parameters.h"

namespace strata {

class LabelColumn {
 public:
  // Of rows to learn from. The parameters outlive it.
  explicit LabelColumn(const FitParameters& parameters);
  // Of test rows, whose classes are those of the rows that were learned from.
  LabelColumn(const FitParameters& parameters, const ClassLabels& learned);

  // Reads a label; any number of threads. kInvalid: it does not fit the loss, or is of a class that
  // is not known.
  Status Read(std::string_view field, float* label);

  // After all labels, as they were read: gives the classes, and makes each label of a class the
  // number of its output. kInvalid: of rows to learn from all labels are the same, unless
  // allow_const_label lets numbers and both classes of Logloss be, or Logloss has not two classes.
  Result<ClassLabels> Finish(std::vector<float>* labels) &&;

 private:
  Status ReadClass(std::string_view field, float* label) STRATA_EXCLUDES(mutex_);
  std::vector<std::string> TakeFound() STRATA_EXCLUDES(mutex_);

  const FitParameters& p_;
  const bool is_learned_ = false;  // of test rows
  ClassLabels classes_;
  std::map<std::string, uint32_t, std::less<>> known_;  // numbers of classes, or outputs for tests
  bool is_open_ = false;                                // classes are those that are found
  Mutex mutex_;
  std::map<std::string, uint32_t, std::less<>> found_ STRATA_GUARDED_BY(mutex_);
};

}  // namespace strata
