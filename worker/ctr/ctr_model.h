// CtrModel: the three models of click probability, as functions of a batch, the rows of its keys
// and the dense part. With w the first element of a row, v the rest (summed over a slot's keys),
// and d the dense features, the logit of a sample is
//   logistic   bias + sum of w + <linear weights, d>
//   fm         that + sum over slots s < t of <v_s, v_t>        (Rendle, ICDM 2010)
//   deepfm     that + a network of v of all slots and d          (Guo et al., IJCAI 2017)
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/dense/matmul.h"
#include "strata/initializer_spec.h"
#include "strata/model_kind.h"
#include "strata/status.h"
#include "worker/data/batch.h"

namespace strata {

struct ModelShape {
  ModelKind kind = ModelKind::kLogistic;
  uint32_t embedding_dim = 0;    // elements of v; 0 for logistic regression
  std::vector<uint32_t> hidden;  // DeepFM's hidden layers
  size_t slots = 0;
  size_t dense_width = 0;

  uint32_t row_dim() const { return 1 + embedding_dim; }
  friend bool operator==(const ModelShape&, const ModelShape&) = default;
};

// kInvalid for a kind that does not go with the widths.
Status ValidateModelShape(const ModelShape& shape);

// Says how the model's rows begin: as `asked` by the user, but single weights begin at 0.
InitializerSpec InitializerOf(const ModelShape& shape, const InitializerSpec& asked);

// What a pass works on. Row i of `rows` belongs to unique.keys[i]. The model's dense part is one
// flat vector: bias, linear weights of the dense features, then for each layer its weights (in x
// out) and biases.
struct ModelInput {
  const Batch& batch;
  const UniqueKeys& unique;
  std::span<const float> rows;   // unique.keys.size() x row_dim
  std::span<const float> dense;  // dense_parameters()
};

// What training adds to the bare function.
struct Regularisation {
  float dropout = 0;  // share of hidden units left out of a pass
  float l2 = 0;       // each sample's loss gains l2 / 2 * (its rows' and the weights' squares)
  uint64_t dropout_seed = 0;  // new for every pass
};

// Holds scratch memory for one pass at a time; one thread at a time.
class CtrModel {
 public:
  // `threads` of this process may work on one matrix product.
  CtrModel(ModelShape shape, int threads);

  const ModelShape& shape() const { return shape_; }
  size_t dense_parameters() const { return dense_parameters_; }

  // Biases and linear weights 0, layers uniform in +-sqrt(6 / (in + out)) (Glorot and Bengio,
  // AISTATS 2010); a function of the seed alone.
  void InitializeDense(uint64_t seed, std::span<float> dense) const;

  // The logits of the samples. A sample's logit does not depend, to the bit, on the others in the
  // batch nor on its place, as long as batches have at most `score_batch` samples.
  static constexpr size_t kScoreBatch = 1024;
  Status Score(const ModelInput& input, std::span<float> logits);

  // A training pass: the summed loss of the batch (without penalties), and the gradients of the
  // loss with penalties, summed over samples, divided by nothing. Both gradients are overwritten.
  struct Gradients {
    std::span<float> rows;    // like ModelInput::rows
    std::span<float> dense;   // like ModelInput::dense
    std::span<float> logits;  // out: the logits, for progress
  };
  Result<double> Train(const ModelInput& input, const Regularisation& regularisation,
                       const Gradients& gradients);

 private:
  struct Layer {
    size_t in = 0;
    size_t out = 0;
    size_t weights_at = 0;  // in the dense part
    size_t biases_at = 0;
  };

  size_t input_width() const;
  bool has_network() const { return !layers_.empty(); }
  // Fills the logits; batches are taken as if they had at least `samples_min` samples.
  Status Forward(const ModelInput& input, size_t samples_min, const Regularisation& regularisation,
                 std::span<float> logits);
  void LinearPart(const ModelInput& input, std::span<float> logits) const;
  void GatherInputs(const ModelInput& input, size_t samples);
  Status NetworkForward(const ModelInput& input, size_t samples,
                        const Regularisation& regularisation);
  Status Backward(const ModelInput& input, const Regularisation& regularisation,
                  const Gradients& gradients);
  Status NetworkBackward(const ModelInput& input, const Regularisation& regularisation,
                         const Gradients& gradients);
  void AddPenalties(const ModelInput& input, float l2, const Gradients& gradients) const;

  ModelShape shape_;
  std::vector<Layer> layers_;
  size_t dense_parameters_ = 0;
  MatMul matmul_;
  // Scratch of one pass.
  std::vector<float> inputs_;  // samples x input_width: pooled v of all slots, then d
  std::vector<float> dinputs_;
  std::vector<float> fm_sums_;
  std::vector<std::vector<float>> outputs_;  // of each layer
  std::vector<std::vector<float>> doutputs_;
  std::vector<float> dlogits_;
};

}  // namespace strata
