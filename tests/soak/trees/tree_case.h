// A random training: data sets as files, and parameters by LightGBM's names.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/soak/trees/metric_by_hand.h"

namespace strata::soak {

// A data set as it was drawn, beside its files.
struct CaseRows {
  std::vector<std::vector<double>> values;  // by row, of features
  std::vector<double> labels;
  std::vector<double> weights;       // empty: none
  std::vector<size_t> query_begins;  // empty: none
  std::vector<double> init_scores;   // class * rows + row; empty: none

  // From one row on, so many.
  CaseRows Part(size_t first, size_t count) const;
};

struct TreeCase {
  std::string objective;
  size_t classes = 1;
  bool drops = false;  // dart
  bool is_forest = false;
  CaseRows train;
  CaseRows valid;
  std::string format;      // "csv", "tsv", "svm": the ending of the files' names
  bool is_binned = false;  // trains on the files of save_binary
  bool goes_on = false;    // in two runs, the second from the model of the first
  int world = 1;
  bool own_files = false;  // each rank has its part in a file of its own
  std::string conf;        // parameters, a line each, but for files
  ByHandParameters metric_parameters;
};

// The same for the same seed. `device` is a device_type.
TreeCase DrawTreeCase(uint64_t seed, const std::string& device);

// Writes rows as PATH and the side files that they need.
void WriteRows(const CaseRows& rows, const std::string& format, const std::string& path);

}  // namespace strata::soak
