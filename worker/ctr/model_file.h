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
#include "worker/data/feature.h"
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

// What a training run has made; its seed is the table's, too.
SavedModel TrainedModel(const std::string& job, uint64_t epochs, const ModelShape& shape,
                        const TableSpec& table, std::span<const FittedFeature> features,
                        const TrainingRun& run);

// Scans the table and writes everything into `folder`, replacing a model that is there: whatever
// happens meanwhile, the folder holds the old model or the new one. One rank does this; nobody may
// be training the table.
Status SaveModel(Disk& disk, const std::string& folder, const SavedModel& model, TableStore& store,
                 const TableSpec& table);

// The files of a model in the folder: those that are there, which saving replaces or removes, and
// the manifest, which it writes. One that cannot be listed has the manifest alone.
std::vector<std::string> ModelFiles(Disk& disk, const std::string& folder);

// Whether the folder holds a model of this job and seed that has learned from at least so many
// samples, by its manifest alone.
bool HoldsModel(Disk& disk, const std::string& folder, const std::string& job, uint64_t seed,
                uint64_t samples);

// A loaded model with its rows.
struct LoadedModel {
  SavedModel model;
  std::vector<Key> keys;    // ascending
  std::vector<float> rows;  // keys.size() x row_dim
};

// Every byte is checked: kCorrupt names file, block, expected and found; kInvalid a newer format;
// kNotFound a missing folder or file.
Result<LoadedModel> LoadModel(Disk& disk, const std::string& folder);

// The model's features, for messages from `folder`. kCorrupt: a text that is none, or features that
// do not go with the model's shape: it was tampered with, or put together from two.
Result<std::vector<FittedFeature>> FeaturesOf(const SavedModel& model, const std::string& folder);

// The table that the model's rows go to, under this name. Nothing updates it.
TableSpec TableOf(const SavedModel& model, const std::string& name);

// Creates `table`, which is TableOf the model, and fills it, each rank with its part of the rows.
// Returns once all ranks have; every rank calls it.
Status RestoreTable(const LoadedModel& loaded, const TableSpec& table, TableStore& store,
                    Group& group);

}  // namespace strata
