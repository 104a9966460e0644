// TreeParameters: what a LightGBM train.conf says, by LightGBM's names, aliases and defaults (its
// docs/Parameters.rst), checked.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file/disk.h"
#include "kernels/tree/gradient/fixed_point.h"
#include "kernels/tree/split/split.h"
#include "strata/status.h"
#include "worker/data/data_spec.h"
#include "worker/gbdt/data/bin_mapper.h"

namespace strata {

struct TreeParameters {
  std::string task = "train";
  std::string objective = "regression";
  std::string boosting = "gbdt";
  std::vector<std::string> metrics;  // empty: the objective's own

  std::string data;
  std::vector<std::string> valid;
  std::string input_model;
  std::string output_model = "LightGBM_model.txt";
  std::string output_result = "LightGBM_predict_result.txt";

  // Of a job file: columns by their names, categories as texts. Nothing: files as LightGBM reads
  // them, with the columns below.
  std::optional<DataSpec> columns;
  bool header = false;
  std::string label_column;
  std::string weight_column;
  std::string group_column;
  std::vector<std::string> ignore_column;
  std::vector<std::string> categorical_feature;  // "3", "name:age"

  int64_t num_iterations = 100;
  double learning_rate = 0.1;
  int64_t num_leaves = 31;
  int64_t max_depth = -1;
  int64_t num_threads = 0;  // 0: one a core
  std::string device_type = "cpu";
  int64_t num_gpu = 1;                      // from the device's on
  std::vector<int64_t> gpu_device_id_list;  // of num_gpu above 1; empty: as num_gpu says
  std::string tree_learner = "serial";
  int64_t top_k = 20;  // of tree_learner = voting
  // The ranks that train together, where no cluster file says it.
  int64_t num_machines = 0;           // 0: as many as are listed
  std::vector<std::string> machines;  // "10.0.0.1:12400"
  std::string machine_list_filename;
  int64_t local_listen_port = 0;  // 0: tells no machines apart
  int64_t time_out = 0;           // minutes; 0: as the cluster's settings say
  bool pre_partition = false;     // each rank has a file of its own
  SplitRules rules;
  BinningRules binning;
  int64_t bin_construct_sample_cnt = 200000;
  bool save_binary = false;
  std::vector<int64_t> max_bin_by_feature;  // of each feature; empty: max_bin
  std::string forcedbins_filename;
  bool enable_bundle = true;

  std::string data_sample_strategy = "bagging";
  double bagging_fraction = 1;
  double pos_bagging_fraction = 1;  // of rows with labels above 0, besides bagging_fraction
  double neg_bagging_fraction = 1;  // of the others
  int64_t bagging_freq = 0;
  bool bagging_by_query = false;
  double top_rate = 0.2;  // of goss
  double other_rate = 0.1;
  double drop_rate = 0.1;  // of dart
  int64_t max_drop = 50;   // 0 or less: no bound
  double skip_drop = 0.5;
  bool xgboost_dart_mode = false;
  bool uniform_drop = false;
  double feature_fraction = 1;
  double feature_fraction_bynode = 1;
  bool extra_trees = false;
  std::string grow_policy = "lossguide";  // ours, by XGBoost's name
  // Of each feature; empty: nothing of any.
  std::vector<int64_t> monotone_constraints;  // -1, 0 or 1
  std::string monotone_constraints_method = "basic";
  double monotone_penalty = 0;
  std::vector<double> feature_contri;   // its gains are multiplied with
  std::string interaction_constraints;  // InteractionSets
  std::string forcedsplits_filename;

  int64_t seed = 0;  // if set, the others follow from it
  int64_t data_random_seed = 1;
  int64_t bagging_seed = 3;
  int64_t drop_seed = 4;
  int64_t feature_fraction_seed = 2;
  int64_t objective_seed = 5;
  int64_t extra_seed = 6;

  int64_t num_class = 1;
  bool boost_from_average = true;
  bool is_unbalance = false;
  double scale_pos_weight = 1;
  double sigmoid = 1;
  bool reg_sqrt = false;
  double alpha = 0.9;  // huber's bound, quantile's share
  double fair_c = 1;
  double poisson_max_delta_step = 0.7;
  double tweedie_variance_power = 1.5;
  int64_t lambdarank_truncation_level = 30;
  bool lambdarank_norm = true;
  std::vector<double> label_gain;  // empty: 2^label - 1
  std::vector<int64_t> eval_at = {1, 2, 3, 4, 5};
  int64_t multi_error_top_k = 1;
  // Class * num_class + other class: how bad it is to take the one for the other. Empty: all alike.
  std::vector<double> auc_mu_weights;

  int64_t metric_freq = 1;
  bool is_provide_training_metric = false;
  int64_t early_stopping_round = 0;
  double early_stopping_min_delta = 0;
  bool first_metric_only = false;
  int64_t snapshot_freq = -1;
  double refit_decay_rate = 0.9;

  bool use_quantized_grad = false;
  int64_t num_grad_quant_bins = 4;
  bool quant_train_renew_leaf = false;
  bool stochastic_rounding = true;
  // Ours: of a gradient where use_quantized_grad is off. 16, 32, or 0: 32 where rows are so few
  // that it costs little and rounding would show, 16 elsewhere.
  int64_t gradient_bits = 0;

  bool predict_raw_score = false;
  bool predict_leaf_index = false;
  bool predict_contrib = false;
  int64_t num_iteration_predict = -1;
  int64_t start_iteration_predict = 0;
  bool predict_disable_shape_check = false;
  std::string convert_model = "gbdt_prediction.cpp";
  std::string model_format = "cpp";  // of the task convert: a name of ModelFormatOf
  bool pred_early_stop = false;
  int64_t pred_early_stop_freq = 10;
  double pred_early_stop_margin = 10;
  int64_t saved_feature_importance_type = 0;  // ImportanceKind
  int64_t verbosity = 1;
  std::string report_file;  // ours: .json and .html of this name are written; "": no report

  std::vector<std::string> warnings;  // of what was given and has no effect

  // "key: value" of all that was set, for model files.
  std::vector<std::pair<std::string, std::string>> set;

  // Whether leaves get outputs from unrounded gradients: rounded ones are needed for it.
  bool renews_leaves() const { return use_quantized_grad && quant_train_renew_leaf; }
  // Rounds that are no better and end training; 0: none do. DART changes trees of earlier rounds.
  int64_t patience() const {
    return boosting == "dart" ? 0 : std::max<int64_t>(0, early_stopping_round);
  }
};

// A key, its value as text, and where it was given ("train.conf:3", "command line").
struct GivenParameter {
  std::string key;
  std::string value;
  std::string origin;
};

// Parameters from what was given, each key once; `file` stands in messages about several of them.
// kInvalid: as ParseLightGbmConf.
Result<TreeParameters> MakeTreeParameters(std::span<const GivenParameter> given,
                                          const std::string& file);

// Reads `text` as train.conf (key = value, # comments), `overrides` ("key=value") win. kInvalid:
// file:line, the key, expected and found. A key that LightGBM knows and Strata does not support is
// refused unless it has no effect at the value given. `config` in a file names another file, which
// is not read, as in LightGBM, and is warned of.
Result<TreeParameters> ParseLightGbmConf(std::string_view text, const std::string& file,
                                         std::span<const std::string> overrides);

// The same from a file. Paths in it are relative to the working directory, as LightGBM has it.
Result<TreeParameters> LoadLightGbmConf(Disk& disk, const std::string& path,
                                        std::span<const std::string> overrides);

}  // namespace strata
