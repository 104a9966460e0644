// Click models: the probability that a row ends in a click, by logistic regression, factorisation
// machines and networks (model_kind.h). Trained from rows in memory, written to and read from the
// folders that strata-worker's jobs have as output.model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "strata/feature_spec.h"
#include "strata/initializer_spec.h"
#include "strata/model_kind.h"
#include "strata/optimizer_spec.h"
#include "strata/status.h"

namespace strata {

// A column of rows in the caller's memory: texts, numbers or whole numbers. An empty text and NaN
// are missing values. Whole numbers are also texts, in decimal, and texts of numbers are numbers.
struct ClickColumn {
  std::string name;
  std::variant<std::span<const std::string_view>, std::span<const float>, std::span<const double>,
               std::span<const int64_t>>
      values = {};
};

// Messages count rows from 1.
struct ClickRows {
  std::span<const ClickColumn> columns = {};  // of one length; those of no feature are not used
  std::span<const float> labels = {};         // 0 or 1 a row; rows to predict for need none
  std::span<const float> weights = {};        // one a row; empty: all 1
};

// After each step of training.
struct ClickStep {
  uint64_t step = 0;     // from 1 on, over all epochs
  uint32_t epoch = 0;    // from 1 on
  uint64_t samples = 0;  // so far
  double loss = 0;       // mean over the step's samples, before its update
};

// The defaults are those of a job file, whose keys docs/configuration.md explains. To change one
// constant of an optimizer, assign it: an OptimizerSpec in braces is SGD unless it names a kind.
struct ClickTraining {
  std::vector<FeatureSpec> features = {};  // at least one
  ModelKind kind = ModelKind::kDeepFm;
  uint32_t embedding_dim = 8;               // factors of a key; kLogistic has none
  std::vector<uint32_t> hidden = {64, 32};  // widths of the hidden layers; not of kLogistic, kFm
  // Widths of the layers over the numeric features alone, of kDlrm and kDcnV2. The last one of
  // kDlrm must be embedding_dim, and kDlrm needs one.
  std::vector<uint32_t> bottom = {};
  uint32_t cross_layers = 3;  // of kDcn and kDcnV2
  uint32_t cross_rank = 16;   // of kDcnV2: at most the width of its inputs
  float dropout = 0;          // share of hidden units that a step leaves out
  float l2 = 0;               // the loss gains l2 / 2 times the sum of the squared parameters
  OptimizerSpec rows_optimizer = {.kind = OptimizerKind::kAdaGrad, .learning_rate = 0.05F};
  OptimizerSpec dense_optimizer = {.kind = OptimizerKind::kAdam, .learning_rate = 0.001F};
  InitializerSpec initializer = {.kind = InitializerKind::kNormal, .scale = 0.01F};
  uint32_t batch_size = 1024;
  uint32_t epochs = 1;
  uint32_t shuffle_rows = 65536;  // the buffer that the next row is drawn from; 0: in their order
  uint64_t seed = 1;
  int threads = 1;  // that work on a step
  // Hears of each step, on the calling thread. Training ends with the error that it returns.
  std::function<Status(const ClickStep&)> stepped = {};
};

struct ClickMetrics {
  double auc = 0;          // area under the ROC curve, ties half; NaN without both labels
  double logloss = 0;      // weighted mean
  double calibration = 0;  // mean prediction / mean label; NaN without clicks
  // Mean squared error of a model that was trained with model.loss = "mse", of which the others are
  // NaN; NaN of all others.
  double mse = 0;
};

// A trained model. Immutable and thread-safe.
class ClickModel {
 public:
  // Blocks. Equal rows and settings give equal bits. kInvalid names the setting, the column or the
  // row that is wrong; kFailed: the loss is no number any more.
  static Result<ClickModel> Train(const ClickRows& rows, const ClickTraining& training);
  // Reads the folder of a saved model. kNotFound: there is none; kCorrupt: the message says which
  // file is damaged; kInvalid: an empty path.
  static Result<ClickModel> Read(const std::string& folder);

  // Writes the folder, with its parents. A model that is there is replaced at once or not at all.
  // kInvalid: an empty path.
  Status Write(const std::string& folder) const;

  ModelKind kind() const;
  std::vector<FeatureSpec> features() const;

  // A probability for each row, on the calling thread: several may each predict a part of the
  // rows. kInvalid: a column that a feature needs is missing or has other values.
  Result<std::vector<float>> Predict(const ClickRows& rows) const;
  // Compares the predictions with the rows' labels.
  Result<ClickMetrics> Evaluate(const ClickRows& rows) const;

 private:
  struct State;
  explicit ClickModel(std::shared_ptr<const State> state);
  std::shared_ptr<const State> state_;
};

}  // namespace strata
