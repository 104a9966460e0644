// Network: what computes a LayerGraph over batches, forwards and backwards, on some device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/thread/work_pool.h"
#include "kernels/dense/gpu/gemm.h"
#include "strata/status.h"
#include "worker/data/batch/batch.h"
#include "worker/data/batch/unique_keys.h"
#include "worker/model/layer_graph.h"

namespace strata {

// What a pass works on. `rows` has the row of each of unique.keys, in their order: a row of table t
// has graph.row_dim(t) elements.
struct NetworkInput {
  const Batch& batch;
  const UniqueKeys& unique;
  std::span<const float> rows;        // RowElements(graph, unique)
  std::span<const float> parameters;  // LayerGraph::parameters()
};

// How many numbers the rows of these keys have in all.
size_t RowElements(const LayerGraph& graph, const UniqueKeys& unique);
// Where those of one table stand among them.
ParameterRange RangeOfTable(const LayerGraph& graph, const UniqueKeys& unique, size_t table);
// The rows of one table.
template <typename Float>
std::span<Float> RowsOfTable(const LayerGraph& graph, const UniqueKeys& unique, size_t table,
                             std::span<Float> rows) {
  const ParameterRange range = RangeOfTable(graph, unique, table);
  return rows.subspan(range.at, range.count);
}

// What training adds to the bare function.
struct Regularisation {
  float dropout = 0;  // share of hidden units left out of a pass
  float l2 = 0;       // each sample's loss gains l2 / 2 * (its rows' and the weights' squares)
  uint64_t dropout_seed = 0;  // new for every pass
};

struct NetworkGradients {
  std::span<float> rows;        // like NetworkInput::rows
  std::span<float> parameters;  // like NetworkInput::parameters
  std::span<float> logits;      // out: the logits, for progress
};

// Where a pass has the first number that is not finite.
struct NotFinitePlace {
  uint32_t value = 0;  // of LayerGraph::values()
  size_t sample = 0;
  size_t column = 0;  // of the value
};

// Holds memory for one pass at a time; one thread at a time.
class Network {
 public:
  virtual ~Network() = default;

  virtual const LayerGraph& graph() const = 0;
  // The name of what computes it: a GPU's, or "CPU". What a model comes to, to the bit, depends on
  // it.
  virtual std::string device() const = 0;

  // Memory for rows or gradients that the network reads and writes fastest: `count` numbers, which
  // hold anything. Thread-safe; the memory may outlive the network.
  virtual std::shared_ptr<float[]> TakeMemory(size_t count);

  // The logits of the samples, by the statistics that training kept. A sample's logit does not
  // depend, to the bit, on the others in the batch nor on its place, as long as batches have at
  // most kScoreBatch samples.
  static constexpr size_t kScoreBatch = 1024;
  virtual Status Score(const NetworkInput& input, std::span<float> logits) = 0;

  // A training pass over `input` follows, and nothing else before it. What does not take the rows,
  // which need not have come yet, may be done now.
  virtual Status Prepare(const NetworkInput& /*input*/) { return {}; }

  // A training pass: returns the summed loss of the batch, without penalties, and overwrites the
  // gradients of the loss with penalties, summed over samples, divided by nothing. Those of
  // statistics are sums over samples, too (LayerParameters).
  virtual Result<double> Train(const NetworkInput& input, const Regularisation& regularisation,
                               const NetworkGradients& gradients) = 0;

  // Of the last pass, which had a sample or more: the embeddings, then what layers gave, in their
  // order. Nothing when all of it is finite. Looks at every number.
  virtual std::optional<NotFinitePlace> FirstNotFinite() = 0;
};

// On the CPU. `threads` help with all of it, and outlive the network; null: the calling thread
// works alone. Where the processor has AVX-512, they change no bits.
std::unique_ptr<Network> MakeCpuNetwork(LayerGraph graph, WorkPool* threads = nullptr);

// On this GPU, over a stream of its own. The same calls give the same bits on GPUs of one kind with
// one version of cuBLAS. `threads` of this process bring a batch, one or more. kNotFound: a build
// without CUDA, or no such GPU; kRefused: no memory.
Result<std::unique_ptr<Network>> MakeGpuNetwork(LayerGraph graph, int gpu, GemmPrecision precision,
                                                int threads);

// Sets biases and weights of kWide to 0, scales to 1, running means to 0 and running variances
// to 1. Others are uniform in +-sqrt(6 / (in + out)) (Glorot and Bengio, AISTATS 2010), and a
// function of the seed alone.
void InitializeParameters(const LayerGraph& graph, uint64_t seed, std::span<float> parameters);

// Moves the statistics among the parameters by those of a batch (MoveStatistics of
// kernels/dense/batch_norm.h). `gradients` are summed over all of its `samples`, and over ranks.
void UpdateStatistics(const LayerGraph& graph, uint64_t samples, std::span<const float> gradients,
                      std::span<float> parameters);

}  // namespace strata
