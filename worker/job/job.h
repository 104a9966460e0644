// JobConfig: what job.toml says, checked and with defaults filled in. Plain data, handed down.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/file/disk.h"
#include "base/settings/settings.h"
#include "kernels/core/device_choice.h"
#include "kernels/dense/gpu/gemm.h"
#include "storage/table_spec.h"
#include "strata/model_kind.h"
#include "strata/status.h"
#include "worker/data/feature/data_spec.h"
#include "worker/gbdt/parameters/tree_parameters.h"
#include "worker/model/layer_graph.h"

namespace strata {

// A setting and its effective value, as text.
struct JobSetting {
  std::string name;   // "train.epochs", "feature[2].kind"
  std::string value;  // "3", "\"numeric\""
};

// What keeps a job's work between two processes.
struct CheckpointSettings {
  std::string folder;        // of a job without servers; servers have their own
  uint32_t every_steps = 0;  // 0: none is taken, and none is looked for
  uint32_t keep = 0;         // of a job without servers
  bool resume = true;
};

struct JobConfig {
  std::string file;  // the job file, for messages

  // Every setting of the job, in the order of the table. Of a path only whether there is one: files
  // may lie elsewhere on each machine.
  std::vector<JobSetting> settings;
  // Where each key is set that the file or the command line sets, by key: "job.toml:12".
  std::map<std::string, std::string, std::less<>> origins;
  // What the job says without effect, for the log.
  std::vector<std::string> warnings;

  std::string name;
  uint64_t seed = 0;

  // Relative paths have been made relative to the working directory. Empty where the job has none.
  // ParseJob leaves patterns as they are; LoadJob puts the files in their place that they stand
  // for, of those sets of data that the task reads.
  std::vector<std::string> train_files;
  std::vector<std::string> test_files;
  DataSpec data;

  // Of model.kind = "gbdt" one of these two; what follows is of the others then. With
  // gbdt.algorithm = "catboost": parameters under CatBoost's names, which are not checked yet.
  std::optional<TreeParameters> trees;
  std::optional<std::vector<OpenValue>> catboost;
  bool has_trees() const { return trees.has_value() || catboost.has_value(); }

  ModelKind model = ModelKind::kLogistic;
  uint32_t embedding_dim = 0;    // factors per key; 0 for logistic regression
  std::vector<uint32_t> hidden;  // widths of the hidden layers; empty of kinds that have none
  std::vector<uint32_t> bottom;  // and of those over the numeric features alone
  uint32_t cross_layers = 0;
  uint32_t cross_rank = 0;
  Combiner combiner = Combiner::kSum;  // of a model of one table
  LossKind loss = LossKind::kLogloss;  // what training makes smaller
  std::vector<LayerSpec> layers;       // of ModelKind::kLayers
  // Of the slots, from the first to the last; empty: all in one, without a name.
  std::vector<GraphTable> tables;
  std::vector<OptimizerSpec> table_optimizers;  // of `tables`, one each
  float dropout = 0;                            // share of hidden units dropped while training
  float l2 = 0;  // penalty: the loss gains l2 / 2 * the sum of squares

  OptimizerSpec sparse_optimizer;
  InitializerSpec sparse_initializer;
  AckLevel sparse_ack = AckLevel::kDefault;
  ElementType sparse_value_type = ElementType::kFp32;
  ElementType sparse_state_type = ElementType::kFp32;
  OptimizerSpec dense_optimizer;

  uint32_t batch_size = 0;  // samples of a step over all workers together
  uint32_t epochs = 0;
  uint32_t shuffle_rows = 0;      // rows of a worker's shuffle buffer; 0: the order of the file
  uint32_t hint_batches = 0;      // whose keys servers are told ahead of their use
  uint32_t eval_every = 0;        // epochs between evaluations; 0: only at the end
  uint32_t eval_every_steps = 0;  // steps between two; 0: none within epochs
  // Evaluations without a better one after which training ends, and the best one's model is the
  // job's; 0: never, and the last one's is.
  uint32_t early_stopping = 0;
  std::string best_by;  // "auc", "logloss", "gauc" or "mse": what says which is better

  DeviceChoice device;                             // where the network is computed
  bool rows_on_gpu = false;                        // of this device, without servers
  uint64_t gpu_memory_bytes = 0;                   // of it for rows; 0: most of what is free
  GemmPrecision precision = GemmPrecision::kFp32;  // on a GPU

  std::string model_path;        // folder; "": the model is not saved
  std::string predictions_path;  // file; "": none
  bool dictionary = false;       // training writes the texts that it has seen beside the model

  CheckpointSettings checkpoint;
};

// An error about the file or folder that `key` ("data.train") names, with the place that set it and
// the key in front: as kInvalid, but that kDiskFull stays. OK stays OK.
Status WrongPath(const JobConfig& job, std::string_view key, const Status& why);

// kInvalid: the job `file` needs the path `key` ("data.test"), which is empty, for what is
// `expected` there: "the file to train on".
Status NoPath(const std::string& file, std::string_view key, std::string_view expected);

// The rows of job.toml: for docs/configuration.md and --help.
const SettingsTable& JobSettingsTable();

// Reads and checks a job file. `overrides` are "section.key=value" texts of the command line, which
// win over the file. Paths in the file are relative to the file's folder, those of overrides to the
// working directory. Columns are checked here when the job file names them, and when the data is
// opened where a header does. `task` is what is to be done. kNotFound: no such file; kInvalid:
// file:line, what, what to do; so are patterns that match nothing, and files that are named twice.
Result<JobConfig> LoadJob(Disk& disk, const std::string& path,
                          std::span<const std::string> overrides,
                          const std::string& task = "train");

// The same from text; `file` is the name for messages and the base of relative paths.
Result<JobConfig> ParseJob(std::string_view text, const std::string& file,
                           std::span<const std::string> overrides,
                           const std::string& task = "train");

}  // namespace strata
