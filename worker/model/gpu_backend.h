// GpuBackend: what a graph's layers are on a GPU (GraphExecutor). Numbers are kept in fp32 or bf16;
// sums, parameters, their gradients and logits are fp32 in any case. cpu_backend.h says what the
// functions do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "kernels/dense/gpu/columns.h"
#include "kernels/dense/gpu/gemm.h"
#include "kernels/dense/gpu/layers.h"
#include "kernels/dense/gpu/rows.h"
#include "storage/gpu/device_buffer.h"
#include "storage/gpu/pinned_pool.h"
#include "strata/exec.h"
#include "strata/optimizer_spec.h"
#include "strata/status.h"
#include "worker/model/gpu_batch.h"
#include "worker/model/graph_executor.h"
#include "worker/model/layer_graph.h"
#include "worker/model/network.h"

namespace strata {

// One thread at a time, whose GPU is that of `exec`. Work is enqueued on the stream of `exec`.
class GpuBackend {
 public:
  using Columns = GpuColumns;
  class Buffer {
   public:
    Columns From(size_t column, size_t columns) const { return all_.From(column, columns); }
    float* fp32() const { return static_cast<float*>(all_.data); }

   private:
    friend class GpuBackend;
    DeviceBuffer memory_;
    Columns all_;
    size_t samples_ = 0;
  };

  GpuBackend(const Exec& exec, GemmPrecision precision, const LayerGraph& graph);
  ~GpuBackend();
  GpuBackend(const GpuBackend&) = delete;
  GpuBackend& operator=(const GpuBackend&) = delete;
  // Once, before all else. kRefused: the GPU has no memory for it.
  Status Make();

  // Parameters of the host, which stay until the next call.
  void SetParameters(std::span<const float> parameters);
  void GetParameters(std::span<float> parameters);
  // The optimizer's state of those that are learned, as SetState brought it and Apply has changed
  // it.
  Status SetState(const OptimizerSpec& optimizer, std::span<const float> state);
  void GetState(std::span<float> state);
  // Updates the parameters by their gradients at time `step`, and the statistics by the batch.
  void Apply(const OptimizerSpec& optimizer, uint64_t step);

  // What the next pass works on, until another batch is set. The executor's values take this many
  // samples.
  Status SetBatch(const GpuBatch& batch, size_t samples);
  // The rows of the batch's distinct keys, from the host, as NetworkInput has them; the batch came
  // with their numbers.
  Status SetRows(const UniqueKeys& unique, std::span<const float> rows);
  // Then, before RowGradients: finds which keys have which of those rows.
  Status SortKeys(const UniqueKeys& unique);
  // Or pooled lookups of them, by table, on the GPU. Of rows that begin with a single weight.
  void SetPooled(std::vector<PooledRows> pooled) { pooled_ = std::move(pooled); }

  void FillDense(const Columns& dense);
  // Regularisation::dropout_seed. Launches of Dropout find it on the GPU: they are the same in each
  // pass.
  void SetSeed(uint64_t seed) { GpuSetSeeds(exec_, seed, hidden_layers_, seeds_.as<uint64_t>()); }

  // From rows of the host.
  void FillEmbeddings(const Columns& embeddings);

  // The loss of the logits, whose gradient times `scale` goes into dlogits.
  void Loss(const Columns& logits, float scale, const Columns& dlogits);
  // Of rows of the host, with penalties.
  void RowGradients(const Columns& dembeddings, float l2);
  // The penalties of parameters: `scale` times each.
  void Penalise(float scale);
  // What kWide gave back, of the last pass that was enqueued layer by layer: where it lies is the
  // same in each until memory moves.
  const Columns& dlogits_of_wide() const { return dlogits_; }
  // The caller adds the gradient of the graph's only factorization machine, which is over all
  // embeddings and gives them theirs last, by itself: what that takes, likewise of the last pass.
  void LeaveFm() { leaves_fm_ = true; }
  FmGradient fm() const { return leaves_fm_ ? fm_ : FmGradient{}; }

  // Brings down what a pass has found, and waits for it.
  double GetLoss(const Columns& logits, std::span<float> to);
  // Enqueues the same on a stream of the caller's, which comes after Loss. `to` is pinned.
  void SendLoss(const Exec& exec, const Columns& logits, std::span<float> to);
  // What SendLoss has brought, once that stream has done so.
  double loss() const { return *reinterpret_cast<const double*>(host_loss_.get()); }
  void GetGradients(const NetworkGradients& gradients);
  void GetLogits(const Columns& logits, std::span<float> to);
  void Read(size_t samples, const Columns& from, std::vector<float>* to) const;
  GpuElement element() const { return element_; }

  void Mark() const;
  template <typename Run>
  auto Beside(const Run& run) {
    const SecondStream second(*this);
    return run();
  }
  void Join();

  Status Resize(size_t samples, size_t width, bool is_of_logit, Buffer* buffer) const;
  // How often memory of a batch's size has moved, as batches grew.
  uint64_t moves() const { return moves_; }
  void Clear(Buffer* buffer) const;
  void ClearColumns(size_t samples, const Columns& to) const {
    GpuClearColumns(exec_, samples, to);
  }
  void Copy(size_t samples, const Columns& from, const Columns& to) const {
    GpuCopyColumns(exec_, samples, from, to);
  }
  void Add(size_t samples, const Columns& from, const Columns& to) const {
    GpuAddColumns(exec_, samples, from, to);
  }
  void AddUp(size_t samples, std::span<const Columns> x, const Columns& y) const {
    GpuAddUp(exec_, samples, x, y);
  }
  void AddToEach(size_t samples, const Columns& from, std::span<const Columns> to,
                 const std::vector<bool>& adds) const {
    GpuAddToEach(exec_, samples, from, to, adds);
  }

  Status Linear(size_t samples, const Columns& x, const LayerParameters& parameters,
                Activation activation, const Columns& y);
  Status LinearBack(size_t samples, const Columns& x, const LayerParameters& parameters,
                    Activation activation, float dropout, const Columns& y, const Columns& dy,
                    const Columns& dx, bool adds);
  void Dropout(size_t samples, float share, uint32_t number, const Columns& y) const {
    GpuDropout(exec_, samples, share, seeds_.as<uint64_t>() + number, y);
  }

  void Interaction(size_t samples, uint32_t vectors, const Columns& x, const Columns& y) const {
    GpuInteraction(exec_, samples, vectors, x, y);
  }
  void InteractionBack(size_t samples, uint32_t vectors, const Columns& x, const Columns& dy,
                       const Columns& dx, bool adds) const {
    GpuInteractionBack(exec_, samples, vectors, x, dy, dx, adds);
  }

  Status Cross(size_t samples, const Columns& x0, const Columns& x,
               const LayerParameters& parameters, Buffer* kept, const Columns& y) const;
  Status CrossBack(size_t samples, const Columns& x0, const Columns& x,
                   const LayerParameters& parameters, Buffer& kept, const Columns& dy,
                   const Columns& dx0, const Columns& dx);

  Status LowRankCross(size_t samples, size_t rank, const Columns& x0, const Columns& x,
                      const LayerParameters& parameters, Buffer* kept, const Columns& y);
  Status LowRankCrossBack(size_t samples, size_t rank, const Columns& x0, const Columns& x,
                          const LayerParameters& parameters, Buffer& kept, const Columns& dy,
                          const Columns& dx0, const Columns& dx);

  Status Fm(size_t samples, uint32_t vectors, const Columns& x, Buffer* kept,
            const Columns& y) const;
  void FmBack(size_t samples, uint32_t vectors, const Columns& x, const Buffer& kept,
              const Columns& dy, const Columns& dx) {
    fm_ = {x, kept.fp32(), dy};
    if (!leaves_fm_) GpuFmBack(exec_, samples, vectors, x, kept.fp32(), dy, dx);
  }

  void Multiply(size_t samples, const Columns& a, const Columns& b, const Columns& y) const {
    GpuMultiply(exec_, samples, a, b, y);
  }
  void MultiplyBack(size_t samples, const Columns& a, const Columns& b, const Columns& dy,
                    const Columns& da, const Columns& db) const {
    GpuMultiplyBack(exec_, samples, a, b, dy, da, db);
  }
  void Activate(size_t samples, Activation activation, const Columns& x, const Columns& y) const {
    GpuActivate(exec_, samples, activation, x, y);
  }
  void ActivateBack(size_t samples, Activation activation, const Columns& y, const Columns& dy,
                    const Columns& dx, bool adds) const {
    GpuActivateBack(exec_, samples, activation, y, dy, dx, adds);
  }
  void SumVectors(size_t samples, uint32_t vectors, const Columns& x, const Columns& y) const {
    GpuSumVectors(exec_, samples, vectors, x, y);
  }
  void SumVectorsBack(size_t samples, uint32_t /*vectors*/, const Columns& dy,
                      const Columns& dx) const {
    GpuSumVectorsBack(exec_, samples, dy, dx);
  }

  Status LayerNorm(size_t samples, const Columns& x, const LayerParameters& parameters,
                   Buffer* kept, const Columns& y) const;
  Status LayerNormBack(size_t samples, const Columns& x, const LayerParameters& parameters,
                       const Buffer& kept, const Columns& dy, const Columns& dx);

  Status BatchNorm(size_t samples, bool trains, const Columns& x, const LayerParameters& parameters,
                   Buffer* kept, const Columns& y) const;
  Status BatchNormBack(size_t samples, const Columns& x, const LayerParameters& parameters,
                       const Buffer& kept, const Columns& dy, const Columns& dx, bool adds) const;

  void Wide(size_t samples, const LayerParameters& parameters, const Columns& y) const;
  void WideBack(size_t samples, const LayerParameters& parameters, const Columns& dy);

 private:
  // What is enqueued while there is one goes to the second stream.
  class SecondStream {
   public:
    explicit SecondStream(GpuBackend& backend);
    ~SecondStream();
    SecondStream(const SecondStream&) = delete;
    SecondStream& operator=(const SecondStream&) = delete;

   private:
    GpuBackend& backend_;
  };
  // Parameters lie on the GPU with gaps, so that each range begins where a vector of 16 bytes may.
  size_t PlaceOf(const ParameterRange& range) const;
  const float* Fp32(const ParameterRange& range) const;
  const void* Operand(const ParameterRange& range) const;
  float* GradientOf(const ParameterRange& range) const;
  // c = a b, or what is asked for beside it.
  Status Gemm(GemmCall call) { return gemms_[is_beside_ ? 1 : 0]->Run(call); }
  float* SumScratch() const { return sum_scratches_[is_beside_ ? 1 : 0].as<float>(); }
  void Sum(size_t samples, const Columns& x, const Columns& weights,
           const ParameterRange& to) const;
  void Narrow();
  static void SendLogits(const Exec& exec, const Columns& logits, std::span<float> to);

  Exec exec_;  // its stream is the second one in Beside
  const GemmPrecision precision_;
  const GpuElement element_;
  const LayerGraph& graph_;
  const Exec main_;
  Exec beside_;                  // of no stream before Make
  void* marked_ = nullptr;       // an event of main_
  void* beside_done_ = nullptr;  // and one of beside_
  bool is_beside_ = false;
  bool has_beside_ = false;            // since the last Join
  std::unique_ptr<GpuGemm> gemms_[2];  // of both streams
  DeviceBuffer sum_scratches_[2];
  // Linear layers have scratch of their own for the sums of biases' gradients: by the first bias of
  // each, how many columns come before its own.
  std::map<size_t, size_t> bias_columns_;
  size_t bias_columns_all_ = 0;
  DeviceBuffer bias_parts_;

  // Calls visit(place, range) with the parameters that are learned, or with all.
  template <typename Visit>
  void ForEachLearned(const Visit& visit) const;
  template <typename Visit>
  void ForEachRange(const Visit& visit) const;

  std::map<size_t, size_t> places_;  // of a range's first parameter, by its number
  size_t learned_ = 0;               // parameters, with the gaps: they come first
  size_t parameters_ = 0;            // all of them, likewise
  std::vector<float> host_parameters_;
  DeviceBuffer fp32_parameters_;
  DeviceBuffer bf16_parameters_;
  DeviceBuffer parameter_gradients_;
  DeviceBuffer state_;  // of learned_ numbers, each letter after the other
  size_t states_ = 0;   // letters
  DeviceBuffer apply_scratch_;

  mutable uint64_t moves_ = 0;
  size_t samples_ = 0;
  std::vector<CompactRows> tables_;  // of the batch
  std::vector<PooledRows> pooled_;   // by table; none: of rows of the host
  std::vector<KeysByRow> keys_;      // by table
  DeviceBuffer rows_;                // of all tables, as NetworkInput has them
  DeviceBuffer row_gradients_;       // likewise
  DeviceBuffer partial_;
  DeviceBuffer by_row_;
  DeviceBuffer sort_scratch_;
  const GpuBatch* given_ = nullptr;
  DeviceBuffer losses_;
  size_t hidden_layers_ = 0;
  DeviceBuffer seeds_;  // of theirs, in a pass with dropout
  // A double in pinned memory, as the GPU copies to it.
  const std::shared_ptr<float[]> host_loss_ = PinnedPool::Make()->Take(2);
  Columns dense_;
  Columns dlogits_;  // of kWide
  FmGradient fm_;    // of kFm
  bool leaves_fm_ = false;
  Buffer dgates_;
  Buffer dscales_;
  Buffer dprojected_;
};

}  // namespace strata
