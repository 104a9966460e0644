// CpuBackend: what a graph's layers are on the CPU (GraphExecutor). Each function computes its
// layer over `samples` rows; the one named Back gets dy, the gradient of y, adds to the gradients
// of the inputs, and overwrites those of the layer's parameters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/thread/work_pool.h"
#include "kernels/dense/matmul.h"
#include "strata/status.h"
#include "worker/model/graph_executor.h"
#include "worker/model/layer_graph.h"
#include "worker/model/network.h"

namespace strata {

struct CpuColumns {
  float* data = nullptr;
  size_t stride = 0;
  size_t width = 0;

  CpuColumns From(size_t column, size_t columns) const { return {data + column, stride, columns}; }
  // Without the samples before this one.
  CpuColumns At(size_t sample) const { return {data + sample * stride, stride, width}; }
};

// One thread at a time.
class CpuBackend {
 public:
  using Columns = CpuColumns;
  class Buffer {
   public:
    void Resize(size_t samples, size_t width) {
      width_ = width;
      numbers_.resize(samples * width);
    }
    Columns From(size_t column, size_t columns) {
      return {numbers_.data() + column, width_, columns};
    }
    std::span<float> all() { return numbers_; }

   private:
    size_t width_ = 0;
    std::vector<float> numbers_;
  };

  // `threads` help, and change no bits but as MatMul says; null: the calling thread works alone.
  explicit CpuBackend(WorkPool* threads) : threads_(threads), matmul_(threads) {}

  // What the next pass works on; `gradients` only of a training pass. Both stay as they are
  // meanwhile.
  void Set(const LayerGraph& graph, const NetworkInput& input, const NetworkGradients* gradients);

  // Of the next passes: Regularisation::dropout_seed.
  void SetSeed(uint64_t seed) { seed_ = seed; }

  // The vectors of the slots' keys, weighted and summed, of the samples of the batch.
  void Pool(const Columns& embeddings) const;
  // Adds the embeddings' gradient to the rows'.
  void PoolBack(const Columns& dembeddings) const;
  // Adds l2 times a row to its gradient, once for each appearance in the batch.
  void PenaliseRows(float l2) const;

  // Makes the buffer a matrix of samples x width. is_of_logit: GraphValue.
  Status Resize(size_t samples, size_t width, bool /*is_of_logit*/, Buffer* buffer) const {
    buffer->Resize(samples, width);
    return {};
  }
  void Clear(Buffer* buffer) const;
  void Zero(std::span<float> numbers) const;
  void ClearColumns(size_t samples, const Columns& to) const;
  void Copy(size_t samples, const Columns& from, const Columns& to) const;
  void Add(size_t samples, const Columns& from, const Columns& to) const;
  // y = ((x[0] + x[1]) + x[2]) + ...
  void AddUp(size_t samples, std::span<const Columns> x, const Columns& y) const;
  // Each of `to`, or 0 where it is not added to, + from: one after the other, as two may be the
  // same.
  void AddToEach(size_t samples, const Columns& from, std::span<const Columns> to,
                 const std::vector<bool>& adds) const;

  // Where a backend can do several things at once, what Beside runs comes after what was begun
  // before the last Mark, beside what is begun from there on, and before all that is begun after
  // Join. Here one comes after the other.
  void Mark() const {}
  template <typename Run>
  auto Beside(const Run& run) const {
    return run();
  }
  void Join() const {}

  // Makes `to` the columns, sample after sample.
  void Read(size_t samples, const Columns& from, std::vector<float>* to) const {
    to->resize(samples * from.width);
    Copy(samples, from, {to->data(), from.width, from.width});
  }

  Status Linear(size_t samples, const Columns& x, const LayerParameters& parameters,
                Activation activation, const Columns& y);
  // dy is spent. dx without data: there is none; it is added to if `adds`, else overwritten.
  Status LinearBack(size_t samples, const Columns& x, const LayerParameters& parameters,
                    Activation activation, float dropout, const Columns& y, const Columns& dy,
                    const Columns& dx, bool adds);
  // DropoutSeed (kernels/dense/linear.h) of the pass's seed, which SetSeed has set, and the number.
  void Dropout(size_t samples, float share, uint32_t number, const Columns& y) const;

  void Interaction(size_t samples, uint32_t vectors, const Columns& x, const Columns& y) const;
  // dx is added to if `adds`, else overwritten.
  void InteractionBack(size_t samples, uint32_t vectors, const Columns& x, const Columns& dy,
                       const Columns& dx, bool adds) const;

  // kept: <x, w> of each sample.
  Status Cross(size_t samples, const Columns& x0, const Columns& x,
               const LayerParameters& parameters, Buffer* kept, const Columns& y) const;
  Status CrossBack(size_t samples, const Columns& x0, const Columns& x,
                   const LayerParameters& parameters, Buffer& kept, const Columns& dy,
                   const Columns& dx0, const Columns& dx) const;

  // kept: x U, then x U V + b.
  Status LowRankCross(size_t samples, size_t rank, const Columns& x0, const Columns& x,
                      const LayerParameters& parameters, Buffer* kept, const Columns& y);
  Status LowRankCrossBack(size_t samples, size_t rank, const Columns& x0, const Columns& x,
                          const LayerParameters& parameters, Buffer& kept, const Columns& dy,
                          const Columns& dx0, const Columns& dx);

  // kept: the sum of the vectors of each sample.
  Status Fm(size_t samples, uint32_t vectors, const Columns& x, Buffer* kept, const Columns& y);
  void FmBack(size_t samples, uint32_t vectors, const Columns& x, Buffer& kept, const Columns& dy,
              const Columns& dx);

  void Multiply(size_t samples, const Columns& a, const Columns& b, const Columns& y) const;
  void MultiplyBack(size_t samples, const Columns& a, const Columns& b, const Columns& dy,
                    const Columns& da, const Columns& db) const;
  // x may be y.
  void Activate(size_t samples, Activation activation, const Columns& x, const Columns& y) const;
  // dx is added to if `adds`, else overwritten; it may be dy then.
  void ActivateBack(size_t samples, Activation activation, const Columns& y, const Columns& dy,
                    const Columns& dx, bool adds) const;
  void SumVectors(size_t samples, uint32_t vectors, const Columns& x, const Columns& y) const;
  void SumVectorsBack(size_t samples, uint32_t vectors, const Columns& dy, const Columns& dx) const;

  // kept: mean and one over the deviation of each sample.
  Status LayerNorm(size_t samples, const Columns& x, const LayerParameters& parameters,
                   Buffer* kept, const Columns& y) const;
  Status LayerNormBack(size_t samples, const Columns& x, const LayerParameters& parameters,
                       Buffer& kept, const Columns& dy, const Columns& dx) const;

  // kept: `moments` of kernels/dense/batch_norm.h. Those of the batch if it `trains`, when the
  // gradients of the statistics are its `sums`; else those of the statistics.
  Status BatchNorm(size_t samples, bool trains, const Columns& x, const LayerParameters& parameters,
                   Buffer* kept, const Columns& y) const;
  // dx as in LinearBack.
  Status BatchNormBack(size_t samples, const Columns& x, const LayerParameters& parameters,
                       Buffer& kept, const Columns& dy, const Columns& dx, bool adds) const;

  // Samples that are not in the batch have neither keys nor features.
  void Wide(size_t samples, const LayerParameters& parameters, const Columns& y) const;
  void WideBack(size_t samples, const LayerParameters& parameters, const Columns& dy) const;

 private:
  float WeightOf(uint32_t key) const { return key_weights_.empty() ? 1.0F : key_weights_[key]; }
  std::span<const float> Weights(const ParameterRange& range) const {
    return input_->parameters.subspan(range.at, range.count);
  }
  std::span<const float> RowsOf(size_t table) const {
    return RowsOfTable(*graph_, input_->unique, table, input_->rows);
  }
  std::span<float> RowGradientsOf(size_t table) const {
    return RowsOfTable(*graph_, input_->unique, table, gradients_->rows);
  }
  std::span<float> GradientOf(const ParameterRange& range) const {
    return gradients_->parameters.subspan(range.at, range.count);
  }

  // Calls task(first, count) for pieces of the samples.
  template <typename Task>
  void ForPieces(size_t samples, const Task& task) const;
  // Calls task(share) for shares of a table's rows, which together are all of them.
  template <typename Task>
  void ForRowShares(const Task& task) const;

  WorkPool* const threads_;
  const LayerGraph* graph_ = nullptr;
  const NetworkInput* input_ = nullptr;
  const NetworkGradients* gradients_ = nullptr;
  uint64_t seed_ = 0;
  std::span<const float> key_weights_;  // NetworkKeyWeights
  std::vector<float> combined_;
  MatMul matmul_;
  std::vector<float> scratch_;
  std::vector<float> scratch2_;
};

}  // namespace strata
