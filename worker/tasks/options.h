// What strata-worker's command line and files say, read and checked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/file/disk.h"
#include "base/file/output_file.h"
#include "base/log.h"
#include "base/settings/settings.h"
#include "cluster/cluster_config.h"
#include "strata/status.h"
#include "worker/gbdt/parameters/tree_parameters.h"
#include "worker/job/job.h"
#include "worker/tasks/catboost/apply_task.h"
#include "worker/tasks/catboost/calc_options.h"
#include "worker/tasks/catboost/fit_options.h"

namespace strata {

enum class Task : uint8_t { kTrain, kEvaluate, kPredict };
const char* TaskName(Task task);  // "train", "evaluate", "predict"

struct WorkerOptions {
  // Of --lightgbm_conf or config=FILE, or of a job of kind "gbdt".
  std::optional<TreeParameters> trees;
  JobConfig job;                    // of --job
  std::optional<CalcOptions> calc;  // of model_file=FILE, a model of CatBoost
  // Of --catboost_params, or to train the trees of a job with gbdt.algorithm = "catboost".
  std::optional<FitOptions> fit;
  std::optional<ApplyOptions> apply;  // to evaluate or predict with those of such a job
  Task task = Task::kTrain;
  bool json = false;
  bool print_graph = false;  // and do nothing else
  int threads = 1;           // that work on a step
  // Nothing: tables in this process and no peers.
  std::optional<ClusterConfig> cluster;
  std::string http_host;
  int http_port = -1;  // 0: a free one; -1: none, the default without a cluster
  LogLevel log_level = LogLevel::kInfo;
  std::string log_file;
  // What no output may replace: the files that the command line names, the data of a job file.
  std::vector<NamedFile> files;
};

// Whether the task's model or predictions go to standard output, where nothing else then goes.
bool WritesToStandardOutput(const WorkerOptions& options);

// The flags of the worker alone; those for the cluster are ClusterSettingsTable's.
const SettingsTable& WorkerSettingsTable();

// Nothing: --help or --version was given and has been answered on standard output.
Result<std::optional<WorkerOptions>> ParseWorkerOptions(int argc, char** argv, Disk& disk);

}  // namespace strata
