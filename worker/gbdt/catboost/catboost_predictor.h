// CatBoostPredictor: what the trees of a model of CatBoost say about rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/thread/work_pool.h"
#include "kernels/core/device_choice.h"
#include "kernels/tree/score/bin_forest.h"
#include "kernels/tree/score/gpu_bin_forest.h"
#include "strata/status.h"
#include "worker/gbdt/catboost/catboost_model.h"
#include "worker/gbdt/catboost/catboost_rows.h"
#include "worker/gbdt/catboost/split_bins.h"

namespace strata {

// On the CPU immutable, for any number of threads; on a GPU for one at a time. It does without the
// model that it is made of.
class CatBoostPredictor {
 public:
  // On the CPU.
  explicit CatBoostPredictor(const CatBoostModel& model);
  // On a device. kNotFound, kRefused: as GpuBinForest; with device = auto the CPU predicts then.
  static Result<CatBoostPredictor> Make(const CatBoostModel& model, const DeviceChoice& device);

  bool on_gpu() const { return gpu_ != nullptr; }
  // Writes the raw values, rows.rows() * outputs of them: those of a row stand side by side. Sums
  // are in double, in the order of the trees, whatever the device and the number of threads. Fails
  // on a GPU alone.
  Status Predict(const CatBoostRows& rows, WorkPool& pool, std::span<double> out) const;
  // The same on the CPU, by the calling thread.
  void Raw(const CatBoostRows& rows, std::span<double> out) const;

 private:
  BinForestView forest() const;
  void RawOf(const CatBoostRows& rows, const RowPiece& piece, std::span<double> out) const;
  void AddOther(const uint8_t* bins, std::span<double> out) const;
  Status OpenGpu(const DeviceChoice& device);

  SplitBins bins_;
  // What BinForestView has.
  std::vector<BinTree> trees_;
  std::vector<BinSplit> splits_;
  std::vector<BinChildren> children_;
  std::vector<double> values_;
  std::vector<double> bias_;
  double scale_;
  std::unique_ptr<GpuBinForest> gpu_;
};

}  // namespace strata
