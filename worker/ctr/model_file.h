// Saving and loading a trained model as a folder (proto/format/model_manifest.h).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/file/disk.h"
#include "cluster/collective/group.h"
#include "storage/table.h"
#include "strata/status.h"
#include "worker/data/feature/feature.h"
#include "worker/model/model_shape.h"

namespace strata {

class TrainingRun;

// A model without its rows, which stay in a store.
struct SavedModel {
  std::string job;
  uint64_t seed = 0;
  uint64_t epochs = 0;
  uint64_t samples = 0;
  ModelShape shape;
  // Of the table: keys that it does not hold answer with these.
  InitializerSpec initializer;
  ElementType value_type = ElementType::kFp32;
  uint64_t table_seed = 0;
  std::string features;  // FeaturesToText
  std::vector<float> dense;
};

// What a training run has made, with tables as `table` is; its seed is theirs, too.
SavedModel TrainedModel(const std::string& job, uint64_t epochs, const ModelShape& shape,
                        const TableSpec& table, std::span<const FittedFeature> features,
                        const TrainingRun& run);

// Scans the model's tables, and writes everything into `folder`, replacing a model that is there:
// whatever happens meanwhile, the folder holds the old model or the new one. One rank does this;
// nobody may be training the tables.
Status SaveModel(Disk& disk, const std::string& folder, const SavedModel& model, TableStore& store,
                 std::span<const TableSpec> tables);

// The files of a model in the folder: those that are there, which saving replaces or removes, and
// the manifest, which it writes. One that cannot be listed has the manifest alone.
std::vector<std::string> ModelFiles(Disk& disk, const std::string& folder);

// Whether the folder holds a model of this job and seed that has learned from at least so many
// samples, by its manifest alone.
bool HoldsModel(Disk& disk, const std::string& folder, const std::string& job, uint64_t seed,
                uint64_t samples);

// The rows of one table.
struct SavedRows {
  std::vector<Key> keys;      // ascending
  std::vector<float> values;  // keys.size() x its row_dim
};

// A loaded model with its rows.
struct LoadedModel {
  SavedModel model;
  std::vector<SavedRows> tables;  // those of TablesOf(model.shape)
};

// Every byte is checked: kCorrupt names file, block, expected and found; kInvalid a newer format;
// kNotFound a missing folder or file.
Result<LoadedModel> LoadModel(Disk& disk, const std::string& folder);

// The model's features, for messages from `folder`. kCorrupt: a text that is none, or features that
// do not go with the model's shape: it was tampered with, or put together from two.
Result<std::vector<FittedFeature>> FeaturesOf(const SavedModel& model, const std::string& folder);

// The names of a model's tables, where their names begin with `prefix`; the only one of a model
// without tables of its own is called `prefix` alone.
std::vector<std::string> TableNames(const ModelShape& shape, const std::string& prefix);
std::vector<TableId> TableIds(std::span<const TableSpec> tables);

// The tables that the model's rows go to, under TableNames. Nothing updates them.
std::vector<TableSpec> RestoredTables(const SavedModel& model, const std::string& prefix);

// Creates `tables`, which are RestoredTables of the model, and fills them, each rank with its part
// of the rows. Returns once all ranks have; every rank calls it.
Status RestoreTables(const LoadedModel& loaded, std::span<const TableSpec> tables,
                     TableStore& store, Group& group);

}  // namespace strata
