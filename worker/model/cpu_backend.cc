#include "worker/model/cpu_backend.h"

#include <algorithm>

#include "kernels/dense/cross.h"
#include "kernels/dense/elementwise.h"
#include "kernels/dense/fm.h"
#include "kernels/dense/interaction.h"
#include "kernels/dense/layer_norm.h"
#include "kernels/dense/linear.h"
#include "kernels/sparse/pooling.h"
#include "worker/model/key_weights.h"

namespace strata {
namespace {

constexpr Exec kCpu;

using Columns = CpuColumns;

// From the first element to the last.
std::span<float> All(size_t samples, const Columns& columns) {
  return {columns.data, samples == 0 ? 0 : (samples - 1) * columns.stride + columns.width};
}

RowShape Rows(size_t samples, const Columns& columns) {
  return {samples, columns.width, columns.stride};
}

CrossShape CrossOf(size_t samples, const Columns& x0, const Columns& x, const Columns& y) {
  return {.samples = samples,
          .width = x.width,
          .x0_stride = x0.stride,
          .x_stride = x.stride,
          .y_stride = y.stride};
}

InteractionShape InteractionOf(size_t samples, uint32_t vectors, const Columns& x,
                               const Columns& y) {
  return {.samples = samples,
          .vectors = vectors,
          .dim = x.width / vectors,
          .x_stride = x.stride,
          .y_stride = y.stride,
          .y_width = y.width};
}

FmShape FmOf(size_t samples, uint32_t vectors, const Columns& x) {
  return {.samples = samples, .slots = vectors, .dim = x.width / vectors, .stride = x.stride};
}

PoolShape PoolOf(const LayerGraph& graph, size_t table, const Batch& batch, size_t stride) {
  const GraphTable& its = graph.spec().tables[table];
  return {.samples = batch.samples,
          .slots = its.slots,
          .row_dim = graph.row_dim(table),
          .first = graph.has_key_weights() ? size_t{1} : size_t{0},
          .dim = its.dim,
          .stride = stride,
          .batch_slots = batch.slots,
          .first_slot = graph.table_places()[table].first_slot};
}

// The vectors of a table.
Columns VectorsOf(const LayerGraph& graph, size_t table, const Columns& embeddings) {
  const GraphTable& its = graph.spec().tables[table];
  return embeddings.From(graph.table_places()[table].column, size_t{its.slots} * its.dim);
}

// Calls visit(i, k) for each key k of the sample i that is of the table.
template <typename Visit>
void ForEachKey(const LayerGraph& graph, size_t table, const Batch& batch, size_t samples,
                const Visit& visit) {
  const uint32_t first = graph.table_places()[table].first_slot;
  const uint32_t slots = graph.spec().tables[table].slots;
  for (size_t i = 0; i < samples; ++i) {
    const size_t bag = i * batch.slots + first;
    for (uint32_t k = batch.offsets[bag]; k < batch.offsets[bag + slots]; ++k) visit(i, k);
  }
}

}  // namespace

void CpuBackend::Set(const LayerGraph& graph, const NetworkInput& input,
                     const NetworkGradients* gradients) {
  graph_ = &graph;
  input_ = &input;
  gradients_ = gradients;
  key_weights_ = NetworkKeyWeights(graph, input.batch, &combined_);
}

void CpuBackend::Pool(const Columns& embeddings) const {
  const Batch& batch = input_->batch;
  for (size_t table = 0; table < graph_->spec().tables.size(); ++table) {
    const Columns to = VectorsOf(*graph_, table, embeddings);
    PoolForward(kCpu, PoolOf(*graph_, table, batch, to.stride), batch.offsets, input_->unique.index,
                RowsOf(table), All(batch.samples, to), key_weights_);
  }
}

void CpuBackend::PoolBack(const Columns& dembeddings) const {
  const Batch& batch = input_->batch;
  for (size_t table = 0; table < graph_->spec().tables.size(); ++table) {
    const Columns from = VectorsOf(*graph_, table, dembeddings);
    PoolBackward(kCpu, PoolOf(*graph_, table, batch, from.stride), batch.offsets,
                 input_->unique.index, All(batch.samples, from), RowGradientsOf(table),
                 key_weights_);
  }
}

void CpuBackend::PenaliseRows(float l2) const {
  for (size_t table = 0; table < graph_->spec().tables.size(); ++table) {
    const std::span<const float> rows = RowsOf(table);
    const std::span<float> gradients = RowGradientsOf(table);
    const size_t row_dim = graph_->row_dim(table);
    ForEachKey(*graph_, table, input_->batch, input_->batch.samples, [&](size_t, uint32_t k) {
      const size_t row = input_->unique.index[k] * row_dim;
      for (size_t d = 0; d < row_dim; ++d) gradients[row + d] += l2 * rows[row + d];
    });
  }
}

void CpuBackend::Clear(Buffer* buffer) const { std::ranges::fill(buffer->all(), 0.0F); }

void CpuBackend::ClearColumns(size_t samples, const Columns& to) const {
  for (size_t i = 0; i < samples; ++i) std::fill_n(to.data + i * to.stride, to.width, 0.0F);
}

void CpuBackend::Copy(size_t samples, const Columns& from, const Columns& to) const {
  for (size_t i = 0; i < samples; ++i) {
    std::copy_n(from.data + i * from.stride, from.width, to.data + i * to.stride);
  }
}

void CpuBackend::Add(size_t samples, const Columns& from, const Columns& to) const {
  for (size_t i = 0; i < samples; ++i) {
    for (size_t e = 0; e < from.width; ++e) {
      to.data[i * to.stride + e] += from.data[i * from.stride + e];
    }
  }
}

Status CpuBackend::Linear(size_t samples, const Columns& x, const LayerParameters& parameters,
                          Activation activation, const Columns& y) {
  STRATA_TRY(LinearForward(kCpu, matmul_, {samples, x.width, y.width, x.stride, y.stride},
                           All(samples, x), Weights(parameters.weights), Weights(parameters.biases),
                           All(samples, y)));
  if (activation != Activation::kNone) Activate(samples, activation, y, y);
  return {};
}

Status CpuBackend::LinearBack(size_t samples, const Columns& x, const LayerParameters& parameters,
                              Activation activation, float dropout, const Columns& y,
                              const Columns& dy, const Columns& dx, bool adds) {
  if (activation != Activation::kNone) {
    ActivateBack(samples, activation, y, dy, dy, /*adds=*/false);
  }
  if (dropout > 0) DropoutBackward(kCpu, Rows(samples, dy), dropout, All(samples, dy));
  const LinearShape shape{samples, x.width, dy.width, x.stride, dy.stride};
  std::span<float> to;
  if (dx.data != nullptr) to = All(samples, dx);
  if (dx.data != nullptr && adds) {
    scratch_.resize(to.size());
    to = scratch_;
  }
  STRATA_TRY(LinearBackward(kCpu, matmul_, shape, All(samples, x), Weights(parameters.weights),
                            All(samples, dy), to, GradientOf(parameters.weights),
                            GradientOf(parameters.biases)));
  if (dx.data != nullptr && adds) Add(samples, {to.data(), dx.stride, dx.width}, dx);
  return {};
}

void CpuBackend::Dropout(size_t samples, float share, uint64_t seed, const Columns& y) const {
  DropoutForward(kCpu, Rows(samples, y), share, seed, All(samples, y));
}

void CpuBackend::Interaction(size_t samples, uint32_t vectors, const Columns& x,
                             const Columns& y) const {
  InteractionForward(kCpu, InteractionOf(samples, vectors, x, y), All(samples, x), All(samples, y));
}

void CpuBackend::InteractionBack(size_t samples, uint32_t vectors, const Columns& x,
                                 const Columns& dy, const Columns& dx, bool adds) const {
  if (!adds) ClearColumns(samples, dx);
  InteractionBackward(kCpu, InteractionOf(samples, vectors, x, dy), All(samples, x),
                      All(samples, dy), All(samples, dx));
}

Status CpuBackend::Cross(size_t samples, const Columns& x0, const Columns& x,
                         const LayerParameters& parameters, Buffer* kept, const Columns& y) const {
  kept->Resize(samples, 1);
  CrossForward(kCpu, CrossOf(samples, x0, x, y), All(samples, x0), All(samples, x),
               Weights(parameters.weights), Weights(parameters.biases), kept->all(),
               All(samples, y));
  return {};
}

Status CpuBackend::CrossBack(size_t samples, const Columns& x0, const Columns& x,
                             const LayerParameters& parameters, Buffer& kept, const Columns& dy,
                             const Columns& dx0, const Columns& dx) const {
  CrossBackward(kCpu, CrossOf(samples, x0, x, dy), All(samples, x0), All(samples, x),
                Weights(parameters.weights), kept.all(), All(samples, dy), All(samples, dx0),
                All(samples, dx), GradientOf(parameters.weights), GradientOf(parameters.biases));
  return {};
}

Status CpuBackend::LowRankCross(size_t samples, size_t rank, const Columns& x0, const Columns& x,
                                const LayerParameters& parameters, Buffer* kept, const Columns& y) {
  kept->Resize(samples, rank + x.width);
  const auto projected = kept->all().first(samples * rank);
  const auto gates = kept->all().subspan(samples * rank);
  STRATA_TRY(matmul_.Run(kCpu, {.m = samples, .k = x.width, .n = rank, .a_stride = x.stride},
                         All(samples, x), Weights(parameters.weights), {}, projected));
  STRATA_TRY(LinearForward(kCpu, matmul_, {samples, rank, x.width}, projected,
                           Weights(parameters.second_weights), Weights(parameters.biases), gates));
  GatedForward(kCpu, CrossOf(samples, x0, x, y), All(samples, x0), gates, All(samples, x),
               All(samples, y));
  return {};
}

Status CpuBackend::LowRankCrossBack(size_t samples, size_t rank, const Columns& x0,
                                    const Columns& x, const LayerParameters& parameters,
                                    Buffer& kept, const Columns& dy, const Columns& dx0,
                                    const Columns& dx) {
  const auto projected = kept.all().first(samples * rank);
  const auto gates = kept.all().subspan(samples * rank);
  std::vector<float>& dgates = scratch_;
  std::vector<float>& dprojected = scratch2_;
  dgates.resize(samples * x.width);
  dprojected.resize(samples * rank);
  GatedBackward(kCpu, CrossOf(samples, x0, x, dy), All(samples, x0), gates, All(samples, dy),
                dgates, All(samples, dx0), All(samples, dx));
  STRATA_TRY(LinearBackward(kCpu, matmul_, {samples, rank, x.width}, projected,
                            Weights(parameters.second_weights), dgates, dprojected,
                            GradientOf(parameters.second_weights), GradientOf(parameters.biases)));
  STRATA_TRY(matmul_.Run(
      kCpu, {.m = x.width, .k = samples, .n = rank, .a_transposed = true, .a_stride = x.stride},
      All(samples, x), dprojected, {}, GradientOf(parameters.weights)));
  STRATA_TRY(matmul_.Run(kCpu, {.m = samples, .k = rank, .n = x.width, .b_transposed = true},
                         dprojected, Weights(parameters.weights), {}, dgates));
  Add(samples, {dgates.data(), x.width, x.width}, dx);
  return {};
}

Status CpuBackend::Fm(size_t samples, uint32_t vectors, const Columns& x, Buffer* kept,
                      const Columns& y) {
  kept->Resize(samples, x.width / vectors);
  scratch_.assign(samples, 0.0F);
  FmForward(kCpu, FmOf(samples, vectors, x), All(samples, x), kept->all(), scratch_);
  Copy(samples, {scratch_.data(), 1, 1}, y);
  return {};
}

void CpuBackend::FmBack(size_t samples, uint32_t vectors, const Columns& x, Buffer& kept,
                        const Columns& dy, const Columns& dx) {
  scratch_.resize(samples);
  Copy(samples, dy, {scratch_.data(), 1, 1});
  FmBackward(kCpu, FmOf(samples, vectors, x), All(samples, x), kept.all(), scratch_,
             All(samples, dx));
}

void CpuBackend::Multiply(size_t samples, const Columns& a, const Columns& b,
                          const Columns& y) const {
  strata::Multiply(kCpu, {samples, y.width, a.stride, b.stride, y.stride}, All(samples, a),
                   All(samples, b), All(samples, y));
}

void CpuBackend::MultiplyBack(size_t samples, const Columns& a, const Columns& b, const Columns& dy,
                              const Columns& da, const Columns& db) const {
  strata::MultiplyBack(kCpu, {samples, dy.width, a.stride, b.stride, dy.stride}, All(samples, a),
                       All(samples, b), All(samples, dy), All(samples, da), All(samples, db));
}

void CpuBackend::Activate(size_t samples, Activation activation, const Columns& x,
                          const Columns& y) const {
  strata::Activate(kCpu, {samples, y.width, x.stride, y.stride}, activation, All(samples, x),
                   All(samples, y));
}

void CpuBackend::ActivateBack(size_t samples, Activation activation, const Columns& y,
                              const Columns& dy, const Columns& dx, bool adds) const {
  STRATA_CHECK(y.stride == dy.stride);  // values and gradients are laid out alike
  strata::ActivateBack(kCpu, {samples, dy.width, dy.stride, dx.stride}, activation, All(samples, y),
                       All(samples, dy), All(samples, dx), adds);
}

void CpuBackend::SumVectors(size_t samples, uint32_t vectors, const Columns& x,
                            const Columns& y) const {
  strata::SumVectors(kCpu, {samples, y.width, x.stride, y.stride}, vectors, All(samples, x),
                     All(samples, y));
}

void CpuBackend::SumVectorsBack(size_t samples, uint32_t vectors, const Columns& dy,
                                const Columns& dx) const {
  strata::SumVectorsBack(kCpu, {samples, dy.width, dx.stride, dy.stride}, vectors, All(samples, dy),
                         All(samples, dx));
}

Status CpuBackend::LayerNorm(size_t samples, const Columns& x, const LayerParameters& parameters,
                             Buffer* kept, const Columns& y) const {
  kept->Resize(samples, 2);
  strata::LayerNorm(kCpu, {samples, x.width, x.stride, y.stride}, All(samples, x),
                    Weights(parameters.scales), Weights(parameters.biases), kept->all(),
                    All(samples, y));
  return {};
}

Status CpuBackend::LayerNormBack(size_t samples, const Columns& x,
                                 const LayerParameters& parameters, Buffer& kept, const Columns& dy,
                                 const Columns& dx) const {
  strata::LayerNormBack(kCpu, {samples, x.width, x.stride, dy.stride}, All(samples, x),
                        Weights(parameters.scales), kept.all(), All(samples, dy), All(samples, dx),
                        GradientOf(parameters.scales), GradientOf(parameters.biases));
  return {};
}

void CpuBackend::Wide(size_t samples, const LayerParameters& parameters, const Columns& y) const {
  const Batch& batch = input_->batch;
  const std::span<const float> weights = Weights(parameters.weights);
  const size_t there = std::min(samples, batch.samples);
  for (size_t i = 0; i < samples; ++i) y.data[i * y.stride] = Weights(parameters.biases)[0];
  for (size_t table = 0; table < graph_->spec().tables.size(); ++table) {
    const std::span<const float> rows = RowsOf(table);
    const size_t row_dim = graph_->row_dim(table);
    ForEachKey(*graph_, table, batch, there, [&](size_t i, uint32_t k) {
      y.data[i * y.stride] += WeightOf(k) * rows[input_->unique.index[k] * row_dim];
    });
  }
  for (size_t i = 0; i < there; ++i) {
    const float* features = batch.dense.data() + i * batch.dense_width;
    for (size_t d = 0; d < batch.dense_width; ++d) y.data[i * y.stride] += weights[d] * features[d];
  }
}

void CpuBackend::WideBack(size_t /*samples*/, const LayerParameters& parameters,
                          const Columns& dy) const {
  const Batch& batch = input_->batch;
  const std::span<float> dweights = GradientOf(parameters.weights);
  float& dbias = GradientOf(parameters.biases)[0];
  for (size_t table = 0; table < graph_->spec().tables.size(); ++table) {
    const std::span<float> rows = RowGradientsOf(table);
    const size_t row_dim = graph_->row_dim(table);
    ForEachKey(*graph_, table, batch, batch.samples, [&](size_t i, uint32_t k) {
      rows[input_->unique.index[k] * row_dim] += WeightOf(k) * dy.data[i * dy.stride];
    });
  }
  for (size_t i = 0; i < batch.samples; ++i) {
    const float dlogit = dy.data[i * dy.stride];
    dbias += dlogit;
    const float* features = batch.dense.data() + i * batch.dense_width;
    for (size_t d = 0; d < batch.dense_width; ++d) dweights[d] += dlogit * features[d];
  }
}

}  // namespace strata
