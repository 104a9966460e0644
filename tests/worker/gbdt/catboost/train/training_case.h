// Trainings of CatBoost: rows, parameters, and what they led to.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/file/disk.h"
#include "strata/status.h"
#include "worker/tasks/trees/tree_task.h"

namespace strata {

struct TrainingCase {
  nlohmann::json json;      // params, model, and perhaps the losses of each round
  std::string learn;        // rows, parted by tabs
  std::string test;         // empty: none
  std::string description;  // of the columns
};

// Those of tests/golden/catboost/training.
std::vector<std::string> GoldenTrainings();
TrainingCase GoldenTraining(const std::string& name);

// Those of classes, classes_NAME.json.
TrainingCase GoldenClassTraining(const std::string& name);

// Trains as the case says, with 1, 2 and 5 threads. A failure unless the model is CatBoost's, and
// what was measured after each round, too.
void ExpectSameTraining(const TrainingCase& training);

// Writes the files of a case: params.json, learn.tsv, test.tsv, rows.cd.
void WriteTraining(Disk& disk, const TrainingCase& training);

// Trains from those files into model.json, with more words of the command line. `rounds` gets the
// metrics after each round: of training and, with test rows, of test.
Result<TreeTaskResult> TrainFromFiles(Disk& disk, const std::vector<std::string>& more,
                                      std::vector<std::vector<double>>* rounds = nullptr);

// A failure unless borders and splits are the same, and leaves and weights within 1e-9.
void ExpectSameModel(const nlohmann::json& found, const nlohmann::json& expected);

}  // namespace strata
