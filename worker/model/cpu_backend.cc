#include "worker/model/cpu_backend.h"

#include <algorithm>
#include <bit>

#include "kernels/dense/batch_norm.h"
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
constexpr size_t kPieceSamples = 128;  // which a thread takes at a time
constexpr size_t kPieceNumbers = size_t{1} << 16;
constexpr size_t kSharesMax = 64;  // of rows: each looks at all keys

using Columns = CpuColumns;

// From the first element to the last.
std::span<float> All(size_t samples, const Columns& columns) {
  return {columns.data, samples == 0 ? 0 : (samples - 1) * columns.stride + columns.width};
}

RowShape Rows(size_t samples, const Columns& columns) {
  return {.rows = samples, .width = columns.width, .stride = columns.stride};
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

// Calls visit(i, k) for each key k of the sample i that is of the table, of some of the samples.
template <typename Visit>
void ForEachKey(const LayerGraph& graph, size_t table, const Batch& batch, size_t first_sample,
                size_t samples, const Visit& visit) {
  const uint32_t first = graph.table_places()[table].first_slot;
  const uint32_t slots = graph.spec().tables[table].slots;
  for (size_t i = first_sample; i < first_sample + samples; ++i) {
    const size_t bag = i * batch.slots + first;
    for (uint32_t k = batch.offsets[bag]; k < batch.offsets[bag + slots]; ++k) visit(i, k);
  }
}

}  // namespace

template <typename Task>
void CpuBackend::ForPieces(size_t samples, const Task& task) const {
  RunPieces(threads_, samples, kPieceSamples,
            [&](size_t begin, size_t end) { task(begin, end - begin); });
}

template <typename Task>
void CpuBackend::ForRowShares(const Task& task) const {
  const size_t threads = threads_ == nullptr ? 1 : threads_->threads();
  const size_t shares = std::min(std::bit_ceil(threads), kSharesMax);
  RunPieces(threads_, shares, 1, [&](size_t number, size_t /*end*/) {
    task(ShareOfRows{static_cast<uint32_t>(number), static_cast<uint32_t>(shares)});
  });
}

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
    const Columns all = VectorsOfTable(*graph_, table, embeddings);
    ForPieces(batch.samples, [&](size_t first, size_t count) {
      PoolShape shape = PoolOf(*graph_, table, batch, all.stride);
      shape.samples = count;
      PoolForward(kCpu, shape, std::span(batch.offsets).subspan(first * batch.slots),
                  input_->unique.index, RowsOf(table), All(count, all.At(first)), key_weights_);
    });
  }
}

void CpuBackend::PoolBack(const Columns& dembeddings) const {
  const Batch& batch = input_->batch;
  for (size_t table = 0; table < graph_->spec().tables.size(); ++table) {
    const Columns from = VectorsOfTable(*graph_, table, dembeddings);
    ForRowShares([&](const ShareOfRows& share) {
      PoolBackward(kCpu, PoolOf(*graph_, table, batch, from.stride), batch.offsets,
                   input_->unique.index, All(batch.samples, from), RowGradientsOf(table),
                   key_weights_, share);
    });
  }
}

void CpuBackend::PenaliseRows(float l2) const {
  for (size_t table = 0; table < graph_->spec().tables.size(); ++table) {
    const std::span<const float> rows = RowsOf(table);
    const std::span<float> gradients = RowGradientsOf(table);
    const size_t row_dim = graph_->row_dim(table);
    ForRowShares([&](const ShareOfRows& share) {
      ForEachKey(*graph_, table, input_->batch, 0, input_->batch.samples, [&](size_t, uint32_t k) {
        if (!share.Has(input_->unique.index[k])) return;
        const size_t row = input_->unique.index[k] * row_dim;
        for (size_t d = 0; d < row_dim; ++d) gradients[row + d] += l2 * rows[row + d];
      });
    });
  }
}

void CpuBackend::Clear(Buffer* buffer) const { Zero(buffer->all()); }

void CpuBackend::Zero(std::span<float> numbers) const {
  RunPieces(threads_, numbers.size(), kPieceNumbers, [&](size_t begin, size_t end) {
    std::ranges::fill(numbers.subspan(begin, end - begin), 0.0F);
  });
}

void CpuBackend::ClearColumns(size_t samples, const Columns& to) const {
  ForPieces(samples, [&](size_t first, size_t count) {
    for (size_t i = first; i < first + count; ++i) {
      std::fill_n(to.data + i * to.stride, to.width, 0.0F);
    }
  });
}

void CpuBackend::Copy(size_t samples, const Columns& from, const Columns& to) const {
  ForPieces(samples, [&](size_t first, size_t count) {
    for (size_t i = first; i < first + count; ++i) {
      std::copy_n(from.data + i * from.stride, from.width, to.data + i * to.stride);
    }
  });
}

void CpuBackend::Add(size_t samples, const Columns& from, const Columns& to) const {
  ForPieces(samples, [&](size_t first, size_t count) {
    for (size_t i = first; i < first + count; ++i) {
      for (size_t e = 0; e < from.width; ++e) {
        to.data[i * to.stride + e] += from.data[i * from.stride + e];
      }
    }
  });
}

void CpuBackend::AddUp(size_t samples, std::span<const Columns> x, const Columns& y) const {
  Copy(samples, x[0], y);
  for (const Columns& columns : x.subspan(1)) Add(samples, columns, y);
}

void CpuBackend::AddToEach(size_t samples, const Columns& from, std::span<const Columns> to,
                           const std::vector<bool>& adds) const {
  for (size_t n = 0; n < to.size(); ++n) {
    if (!adds[n]) ClearColumns(samples, to[n]);
    Add(samples, from, to[n]);
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
  if (dropout > 0) {
    ForPieces(samples, [&](size_t first, size_t count) {
      DropoutBackward(kCpu, Rows(count, dy), dropout, All(count, dy.At(first)));
    });
  }
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

void CpuBackend::Dropout(size_t samples, float share, uint32_t number, const Columns& y) const {
  ForPieces(samples, [&](size_t first, size_t count) {
    RowShape rows = Rows(count, y);
    rows.first = first;
    DropoutForward(kCpu, rows, share, DropoutSeed(seed_, number), All(count, y.At(first)));
  });
}

void CpuBackend::Interaction(size_t samples, uint32_t vectors, const Columns& x,
                             const Columns& y) const {
  ForPieces(samples, [&](size_t first, size_t count) {
    InteractionForward(kCpu, InteractionOf(count, vectors, x, y), All(count, x.At(first)),
                       All(count, y.At(first)));
  });
}

void CpuBackend::InteractionBack(size_t samples, uint32_t vectors, const Columns& x,
                                 const Columns& dy, const Columns& dx, bool adds) const {
  if (!adds) ClearColumns(samples, dx);
  ForPieces(samples, [&](size_t first, size_t count) {
    InteractionBackward(kCpu, InteractionOf(count, vectors, x, dy), All(count, x.At(first)),
                        All(count, dy.At(first)), All(count, dx.At(first)));
  });
}

Status CpuBackend::Cross(size_t samples, const Columns& x0, const Columns& x,
                         const LayerParameters& parameters, Buffer* kept, const Columns& y) const {
  kept->Resize(samples, 1);
  ForPieces(samples, [&](size_t first, size_t count) {
    CrossForward(kCpu, CrossOf(count, x0, x, y), All(count, x0.At(first)), All(count, x.At(first)),
                 Weights(parameters.weights), Weights(parameters.biases),
                 kept->all().subspan(first, count), All(count, y.At(first)));
  });
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
  ForPieces(samples, [&](size_t first, size_t count) {
    GatedForward(kCpu, CrossOf(count, x0, x, y), All(count, x0.At(first)),
                 gates.subspan(first * x.width), All(count, x.At(first)), All(count, y.At(first)));
  });
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
  ForPieces(samples, [&](size_t first, size_t count) {
    GatedBackward(kCpu, CrossOf(count, x0, x, dy), All(count, x0.At(first)),
                  gates.subspan(first * x.width), All(count, dy.At(first)),
                  std::span(dgates).subspan(first * x.width), All(count, dx0.At(first)),
                  All(count, dx.At(first)));
  });
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
  const size_t dim = x.width / vectors;
  ForPieces(samples, [&](size_t first, size_t count) {
    FmForward(kCpu, FmOf(count, vectors, x), All(count, x.At(first)),
              kept->all().subspan(first * dim, count * dim), std::span(scratch_).subspan(first));
  });
  Copy(samples, {scratch_.data(), 1, 1}, y);
  return {};
}

void CpuBackend::FmBack(size_t samples, uint32_t vectors, const Columns& x, Buffer& kept,
                        const Columns& dy, const Columns& dx) {
  scratch_.resize(samples);
  Copy(samples, dy, {scratch_.data(), 1, 1});
  const size_t dim = x.width / vectors;
  ForPieces(samples, [&](size_t first, size_t count) {
    FmBackward(kCpu, FmOf(count, vectors, x), All(count, x.At(first)),
               kept.all().subspan(first * dim, count * dim), std::span(scratch_).subspan(first),
               All(count, dx.At(first)));
  });
}

void CpuBackend::Multiply(size_t samples, const Columns& a, const Columns& b,
                          const Columns& y) const {
  ForPieces(samples, [&](size_t first, size_t count) {
    strata::Multiply(kCpu, {count, y.width, a.stride, b.stride, y.stride}, All(count, a.At(first)),
                     All(count, b.At(first)), All(count, y.At(first)));
  });
}

void CpuBackend::MultiplyBack(size_t samples, const Columns& a, const Columns& b, const Columns& dy,
                              const Columns& da, const Columns& db) const {
  ForPieces(samples, [&](size_t first, size_t count) {
    strata::MultiplyBack(kCpu, {count, dy.width, a.stride, b.stride, dy.stride},
                         All(count, a.At(first)), All(count, b.At(first)), All(count, dy.At(first)),
                         All(count, da.At(first)), All(count, db.At(first)));
  });
}

void CpuBackend::Activate(size_t samples, Activation activation, const Columns& x,
                          const Columns& y) const {
  ForPieces(samples, [&](size_t first, size_t count) {
    strata::Activate(kCpu, {count, y.width, x.stride, y.stride}, activation,
                     All(count, x.At(first)), All(count, y.At(first)));
  });
}

void CpuBackend::ActivateBack(size_t samples, Activation activation, const Columns& y,
                              const Columns& dy, const Columns& dx, bool adds) const {
  STRATA_CHECK(y.stride == dy.stride);  // values and gradients are laid out alike
  ForPieces(samples, [&](size_t first, size_t count) {
    strata::ActivateBack(kCpu, {count, dy.width, dy.stride, dx.stride}, activation,
                         All(count, y.At(first)), All(count, dy.At(first)),
                         All(count, dx.At(first)), adds);
  });
}

void CpuBackend::SumVectors(size_t samples, uint32_t vectors, const Columns& x,
                            const Columns& y) const {
  ForPieces(samples, [&](size_t first, size_t count) {
    strata::SumVectors(kCpu, {count, y.width, x.stride, y.stride}, vectors, All(count, x.At(first)),
                       All(count, y.At(first)));
  });
}

void CpuBackend::SumVectorsBack(size_t samples, uint32_t vectors, const Columns& dy,
                                const Columns& dx) const {
  ForPieces(samples, [&](size_t first, size_t count) {
    strata::SumVectorsBack(kCpu, {count, dy.width, dx.stride, dy.stride}, vectors,
                           All(count, dy.At(first)), All(count, dx.At(first)));
  });
}

Status CpuBackend::LayerNorm(size_t samples, const Columns& x, const LayerParameters& parameters,
                             Buffer* kept, const Columns& y) const {
  kept->Resize(samples, 2);
  ForPieces(samples, [&](size_t first, size_t count) {
    strata::LayerNorm(kCpu, {count, x.width, x.stride, y.stride}, All(count, x.At(first)),
                      Weights(parameters.scales), Weights(parameters.biases),
                      kept->all().subspan(2 * first), All(count, y.At(first)));
  });
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

Status CpuBackend::BatchNorm(size_t samples, bool trains, const Columns& x,
                             const LayerParameters& parameters, Buffer* kept,
                             const Columns& y) const {
  kept->Resize(2, x.width);
  const std::span<float> moments = kept->all();
  const BatchNormShape shape{samples, x.width, x.stride, y.stride};
  const std::span<const float> statistics = Weights(parameters.statistics);
  if (trains) {
    BatchMoments(kCpu, shape, All(samples, x), statistics, moments,
                 GradientOf(parameters.statistics), threads_);
  } else {
    RunningMoments(kCpu, statistics, moments);
  }
  ForPieces(samples, [&](size_t first, size_t count) {
    BatchNormShape piece = shape;
    piece.samples = count;
    strata::BatchNorm(kCpu, piece, All(count, x.At(first)), moments, Weights(parameters.scales),
                      Weights(parameters.biases), All(count, y.At(first)));
  });
  return {};
}

Status CpuBackend::BatchNormBack(size_t samples, const Columns& x,
                                 const LayerParameters& parameters, Buffer& kept, const Columns& dy,
                                 const Columns& dx, bool adds) const {
  const std::span<float> dscales = GradientOf(parameters.scales);
  const std::span<float> dbiases = GradientOf(parameters.biases);
  BatchNormSums(kCpu, {samples, x.width, x.stride, dy.stride}, All(samples, x), kept.all(),
                All(samples, dy), dscales, dbiases, threads_);
  if (dx.data == nullptr) return {};
  STRATA_CHECK(x.stride == dx.stride);  // values and gradients are laid out alike
  ForPieces(samples, [&](size_t first, size_t count) {
    strata::BatchNormBack(kCpu, {count, x.width, x.stride, dy.stride}, samples,
                          All(count, x.At(first)), kept.all(), Weights(parameters.scales), dscales,
                          dbiases, All(count, dy.At(first)), All(count, dx.At(first)), adds);
  });
  return {};
}

void CpuBackend::Wide(size_t samples, const LayerParameters& parameters, const Columns& y) const {
  const Batch& batch = input_->batch;
  const std::span<const float> weights = Weights(parameters.weights);
  for (size_t i = 0; i < samples; ++i) y.data[i * y.stride] = Weights(parameters.biases)[0];
  ForPieces(std::min(samples, batch.samples), [&](size_t first, size_t count) {
    for (size_t table = 0; table < graph_->spec().tables.size(); ++table) {
      const std::span<const float> rows = RowsOf(table);
      const size_t row_dim = graph_->row_dim(table);
      ForEachKey(*graph_, table, batch, first, count, [&](size_t i, uint32_t k) {
        y.data[i * y.stride] += WeightOf(k) * rows[input_->unique.index[k] * row_dim];
      });
    }
    for (size_t i = first; i < first + count; ++i) {
      const float* features = batch.dense.data() + i * batch.dense_width;
      for (size_t d = 0; d < batch.dense_width; ++d) {
        y.data[i * y.stride] += weights[d] * features[d];
      }
    }
  });
}

void CpuBackend::WideBack(size_t /*samples*/, const LayerParameters& parameters,
                          const Columns& dy) const {
  const Batch& batch = input_->batch;
  const std::span<float> dweights = GradientOf(parameters.weights);
  float& dbias = GradientOf(parameters.biases)[0];
  for (size_t table = 0; table < graph_->spec().tables.size(); ++table) {
    const std::span<float> rows = RowGradientsOf(table);
    const size_t row_dim = graph_->row_dim(table);
    ForRowShares([&](const ShareOfRows& share) {
      ForEachKey(*graph_, table, batch, 0, batch.samples, [&](size_t i, uint32_t k) {
        const uint32_t row = input_->unique.index[k];
        if (share.Has(row)) rows[row * row_dim] += WeightOf(k) * dy.data[i * dy.stride];
      });
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
