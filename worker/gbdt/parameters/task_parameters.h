// TaskParameters: what is to be done, the model that it begins with, and what it writes.
#pragma once

#include <cstdint>
#include <string>

namespace strata {

struct TaskParameters {
  std::string name = "train";
  std::string input_model;
  std::string output_model;
  std::string output_result;  // of predict
  int64_t snapshot_freq = -1;
  bool save_binary = false;
  double refit_decay_rate = 0.9;
  std::string convert_model;                  // of convert: the file it writes
  std::string model_format = "cpp";           // of convert: a name of ModelFormatOf
  int64_t saved_feature_importance_type = 0;  // ImportanceKind
  std::string report_file;  // ours: .json and .html of this name are written; "": no report
  int64_t verbosity = 1;
};

}  // namespace strata
