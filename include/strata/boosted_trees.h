// Boosted trees: trained from rows in memory, written to and read from model files, and used to
// predict. Parameters have LightGBM's names; so do files, which LightGBM and XGBoost read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "strata/status.h"

namespace strata {

struct TreeModel;

// Rows in the caller's memory, one after the other, of `features` numbers each. NaN is a missing
// value. Features have numbers from 0 on and no names. Messages count rows from 1.
struct TreeRows {
  std::variant<std::span<const float>, std::span<const double>> values = {};
  size_t features = 0;
  std::span<const float> labels = {};   // one a row; rows to predict for need none
  std::span<const float> weights = {};  // one a row; empty: all 1
};

// A metric of one set of rows after a round.
struct TreeEvaluation {
  size_t round = 0;    // from 1 on
  std::string data;    // "valid_1": the first of TreeTraining::valid; "training"
  std::string metric;  // "auc"
  double value = 0;
};

struct TreeTraining {
  // {"objective", "binary"}, {"num_leaves", "63"}: by LightGBM's names, those of section [gbdt] in
  // docs/configuration.md. device_type = "cuda" trains on a GPU. verbosity has no effect: the
  // program's log does not belong to one training. Objectives that rank need queries, which rows
  // in memory do not have: strata-worker trains those.
  std::map<std::string, std::string> parameters = {};
  std::span<const TreeRows> valid = {};  // as many features; evaluated after every round
  // Hears of each metric, on the calling thread. Training ends with the error that it returns.
  std::function<Status(const TreeEvaluation&)> evaluated = {};
};

enum class TreeOutput : uint8_t {
  kPrediction,     // what the objective predicts: a probability, a count, a value
  kRawScore,       // the sum of the leaves
  kLeaves,         // the number of the leaf that each tree leads to
  kContributions,  // what each feature adds to the raw score (SHAP), then the expected score
};

enum class TreeFileFormat : uint8_t { kLightGbm, kXgboost };

// A trained model. Immutable and thread-safe.
class BoostedTrees {
 public:
  // Blocks, on as many threads as num_threads says. Where early_stopping_round ends training, the
  // rounds after the best one are taken back. kInvalid names the parameter or the row that is
  // wrong; a parameter that has no meaning here, as one that names a file of rows, is kInvalid too.
  // kNotFound: there is no such GPU, or this build has no CUDA.
  static Result<BoostedTrees> Train(const TreeRows& rows, const TreeTraining& training);
  // Reads LightGBM's text or XGBoost's JSON. kNotFound: no such file; kCorrupt or kInvalid: no
  // model. kInvalid also: an empty path.
  static Result<BoostedTrees> Read(const std::string& path);

  // Replaces the file at once or not at all. kInvalid: trees that the format cannot express, or
  // an empty path.
  Status Write(const std::string& path, TreeFileFormat format = TreeFileFormat::kLightGbm) const;

  size_t features() const;
  size_t rounds() const;
  // Numbers for each row, row by row: one, or one a class, for predictions and scores; one a tree
  // for leaves; (features + 1) a class for contributions. On the calling thread: several may each
  // predict a part of the rows. kInvalid: rows of another number of features, or what the model
  // cannot say.
  Result<std::vector<double>> Predict(const TreeRows& rows,
                                      TreeOutput output = TreeOutput::kPrediction) const;

 private:
  explicit BoostedTrees(std::shared_ptr<const TreeModel> model);
  std::shared_ptr<const TreeModel> model_;
};

}  // namespace strata
