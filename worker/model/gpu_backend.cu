#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "kernels/optim/apply.h"
#include "kernels/optim/gpu/apply_dense.h"
#include "kernels/sparse/sort_by_row.h"
#include "storage/gpu/gpu_calls.cuh"
#include "worker/model/gpu_backend.h"

namespace strata {
namespace {

constexpr size_t kAlign = 8;  // elements: 16 bytes of bf16

size_t Aligned(size_t count) { return (count + kAlign - 1) / kAlign * kAlign; }

template <typename T>
Status Upload(const Exec& exec, std::span<const T> from, DeviceBuffer* to) {
  STRATA_TRY(to->ReserveFor<T>(std::max<size_t>(from.size(), 1)));
  if (!from.empty()) CopyUp(exec, from, to->as<T>());
  return {};
}

GemmOperand OperandOf(const GpuColumns& columns, bool transposed = false) {
  return {columns.data, columns.stride, transposed};
}

// Elements of a row with the zeros after them: products of 8 and 16 bytes at once are much faster.
size_t PaddedWidth(const GpuColumns& columns) { return columns.width + columns.padding; }

}  // namespace

GpuBackend::GpuBackend(const Exec& exec, GemmPrecision precision, const LayerGraph& graph)
    : exec_(exec),
      precision_(precision),
      element_(precision == GemmPrecision::kBf16 ? GpuElement::kBf16 : GpuElement::kFp32),
      graph_(graph),
      main_(exec),
      beside_{exec.device, exec.ordinal, nullptr} {
  const auto place = [&](const ParameterRange& range, size_t padding) {
    if (range.count == 0) return;
    places_[range.at] = parameters_;
    parameters_ += Aligned(range.count + padding);
  };
  for (const GraphLayer& layer : graph_.layers()) {
    const LayerParameters& its = layer.parameters;
    // Products go over the padding of their input, too: the weights have rows of zeros for it.
    place(its.weights, (kAlign - 1) * layer.spec.width);
    place(its.second_weights, 0);
    place(its.scales, 0);
    place(its.biases, 0);
    if (layer.spec.is_hidden) ++hidden_layers_;
    if (layer.spec.kind != LayerKind::kLinear) continue;
    bias_columns_[its.biases.at] = bias_columns_all_;
    bias_columns_all_ += its.biases.count;
  }
  learned_ = parameters_;
  for (const GraphLayer& layer : graph_.layers()) place(layer.parameters.statistics, 0);
  host_parameters_.resize(parameters_);
}

Status GpuBackend::Make() {
  STRATA_ASSIGN(beside_.stream, MakeStream());
  STRATA_ASSIGN(marked_, MakeEvent());
  STRATA_ASSIGN(beside_done_, MakeEvent());
  STRATA_ASSIGN(gemms_[0], MakeGpuGemm(main_, precision_));
  STRATA_ASSIGN(gemms_[1], MakeGpuGemm(beside_, precision_));
  size_t widest = 1;
  for (const GraphValue& value : graph_.values()) widest = std::max<size_t>(widest, value.width);
  for (DeviceBuffer& scratch : sum_scratches_) {
    STRATA_TRY(scratch.Reserve(GpuSumScratchBytes(widest)));
  }
  STRATA_TRY(seeds_.ReserveFor<uint64_t>(std::max<size_t>(hidden_layers_, 1)));
  STRATA_TRY(bias_parts_.Reserve(GpuSumScratchBytes(std::max<size_t>(bias_columns_all_, 1))));
  STRATA_TRY(fp32_parameters_.ReserveFor<float>(parameters_));
  STRATA_TRY(parameter_gradients_.ReserveFor<float>(parameters_));
  if (element_ == GpuElement::kBf16) STRATA_TRY(bf16_parameters_.ReserveFor<uint16_t>(parameters_));
  return {};
}

GpuBackend::~GpuBackend() {
  if (beside_.stream != nullptr) {
    (void)cudaStreamSynchronize(StreamOf(beside_));
    (void)cudaStreamDestroy(StreamOf(beside_));
  }
  for (void* const event : {marked_, beside_done_}) {
    if (event != nullptr) (void)cudaEventDestroy(EventOf(event));
  }
}

namespace {

void Record(const Exec& exec, void* event) {
  Must(FromCuda(cudaEventRecord(EventOf(event), StreamOf(exec)), "the GPU"));
}
void WaitFor(const Exec& exec, void* event) {
  Must(FromCuda(cudaStreamWaitEvent(StreamOf(exec), EventOf(event)), "the GPU"));
}

}  // namespace

void GpuBackend::Mark() const { Record(main_, marked_); }

GpuBackend::SecondStream::SecondStream(GpuBackend& backend) : backend_(backend) {
  WaitFor(backend_.beside_, backend_.marked_);
  backend_.exec_ = backend_.beside_;
  backend_.is_beside_ = backend_.has_beside_ = true;
}

GpuBackend::SecondStream::~SecondStream() {
  backend_.exec_ = backend_.main_;
  backend_.is_beside_ = false;
}

void GpuBackend::Join() {
  if (!has_beside_) return;
  Record(beside_, beside_done_);
  WaitFor(main_, beside_done_);
  has_beside_ = false;
}

size_t GpuBackend::PlaceOf(const ParameterRange& range) const {
  return range.count == 0 ? 0 : places_.at(range.at);
}
const float* GpuBackend::Fp32(const ParameterRange& range) const {
  return fp32_parameters_.as<float>() + PlaceOf(range);
}
const void* GpuBackend::Operand(const ParameterRange& range) const {
  if (element_ == GpuElement::kFp32) return Fp32(range);
  return bf16_parameters_.as<uint16_t>() + PlaceOf(range);
}
float* GpuBackend::GradientOf(const ParameterRange& range) const {
  return parameter_gradients_.as<float>() + PlaceOf(range);
}

void GpuBackend::Sum(size_t samples, const Columns& x, const Columns& weights,
                     const ParameterRange& to) const {
  GpuSumColumns(exec_, samples, x, weights, GradientOf(to), SumScratch());
}

template <typename Visit>
void GpuBackend::ForEachLearned(const Visit& visit) const {
  for (const GraphLayer& layer : graph_.layers()) {
    const LayerParameters& its = layer.parameters;
    for (const ParameterRange& range : {its.weights, its.second_weights, its.scales, its.biases}) {
      if (range.count > 0) visit(PlaceOf(range), range);
    }
  }
}

template <typename Visit>
void GpuBackend::ForEachRange(const Visit& visit) const {
  ForEachLearned(visit);
  for (const GraphLayer& layer : graph_.layers()) {
    const ParameterRange& range = layer.parameters.statistics;
    if (range.count > 0) visit(PlaceOf(range), range);
  }
}

void GpuBackend::SetParameters(std::span<const float> parameters) {
  ForEachRange([&](size_t place, const ParameterRange& range) {
    std::ranges::copy(parameters.subspan(range.at, range.count), host_parameters_.begin() + place);
  });
  CopyUp(exec_, std::span<const float>(host_parameters_), fp32_parameters_.as<float>());
  Narrow();
}

void GpuBackend::GetParameters(std::span<float> parameters) {
  CopyDown(exec_, fp32_parameters_.as<float>(), std::span(host_parameters_));
  Wait(exec_);
  ForEachRange([&](size_t place, const ParameterRange& range) {
    std::copy_n(host_parameters_.begin() + place, range.count, parameters.begin() + range.at);
  });
}

Status GpuBackend::SetState(const OptimizerSpec& optimizer, std::span<const float> state) {
  const size_t parameters = graph_.learned_parameters();
  states_ = StateWidth(optimizer, parameters) / parameters;
  STRATA_CHECK(state.size() == states_ * parameters);
  std::vector<float> all(states_ * learned_);
  // What lies in the gaps is updated, too: by gradients of 0, of numbers that are 0.
  InitialState(optimizer, all);
  for (size_t letter = 0; letter < states_; ++letter) {
    ForEachLearned([&](size_t place, const ParameterRange& range) {
      std::ranges::copy(state.subspan(letter * parameters + range.at, range.count),
                        all.begin() + letter * learned_ + place);
    });
  }
  STRATA_TRY(apply_scratch_.Reserve(GpuApplyDenseScratchBytes()));
  STRATA_TRY(Upload<float>(exec_, all, &state_));
  strata::Clear(exec_, parameter_gradients_.data(), parameters_ * sizeof(float));
  Wait(exec_);
  return {};
}

void GpuBackend::GetState(std::span<float> state) {
  const size_t parameters = graph_.learned_parameters();
  std::vector<float> all(states_ * learned_);
  CopyDown(exec_, state_.as<float>(), std::span(all));
  Wait(exec_);
  for (size_t letter = 0; letter < states_; ++letter) {
    ForEachLearned([&](size_t place, const ParameterRange& range) {
      std::copy_n(all.begin() + letter * learned_ + place, range.count,
                  state.begin() + letter * parameters + range.at);
    });
  }
}

void GpuBackend::Apply(const OptimizerSpec& optimizer, uint64_t step) {
  GpuApplyDense(exec_, optimizer, step, learned_, fp32_parameters_.as<float>(), state_.as<float>(),
                parameter_gradients_.as<float>(), apply_scratch_.data());
  for (const GraphLayer& layer : graph_.layers()) {
    const ParameterRange& range = layer.parameters.statistics;
    if (range.count == 0) continue;
    GpuMoveStatistics(exec_, range.count / 2, samples_, GradientOf(range),
                      fp32_parameters_.as<float>() + PlaceOf(range));
  }
  Narrow();
  MustBegin("an update of a click model");
}

// The parameters as matrix products take them.
void GpuBackend::Narrow() {
  if (element_ == GpuElement::kFp32) return;
  GpuConvert(exec_, fp32_parameters_.as<float>(), parameters_, element_, bf16_parameters_.data());
}

Status GpuBackend::SetBatch(const GpuBatch& batch, size_t samples) {
  samples_ = samples;
  given_ = &batch;
  const void* const losses = losses_.data();
  STRATA_TRY(losses_.ReserveFor<double>(samples + 1));
  if (losses_.data() != losses) ++moves_;
  tables_.clear();
  for (size_t table = 0; table < graph_.spec().tables.size(); ++table) {
    const GraphTable& its = graph_.spec().tables[table];
    tables_.push_back({.samples = batch.samples(),
                       .slots = its.slots,
                       .dim = its.dim,
                       .has_weight = graph_.has_key_weights(),
                       .offsets = batch.keys(table).offsets,
                       .key_weights = batch.keys(table).weights});
  }
  pooled_.clear();
  return {};
}

Status GpuBackend::SetRows(const UniqueKeys& unique, std::span<const float> rows) {
  STRATA_TRY(Upload<float>(exec_, rows, &rows_));
  for (size_t table = 0; table < tables_.size(); ++table) {
    tables_[table].index = given_->keys(table).index;
    tables_[table].rows = rows_.as<float>() + RangeOfTable(graph_, unique, table).at;
  }
  return {};
}

Status GpuBackend::SortKeys(const UniqueKeys& unique) {
  size_t keys_all = 0;
  size_t keys_most = 0;
  size_t sums_most = 1;
  for (size_t table = 0; table < tables_.size(); ++table) {
    const size_t keys = given_->keys(table).count;
    const size_t sums = RowSums(keys, unique.of_table(table).size());
    keys_all += keys;
    keys_most = std::max(keys_most, keys);
    sums_most = std::max(sums_most, sums * tables_[table].row_dim());
  }
  const size_t starts_all = unique.keys.size() + tables_.size();
  STRATA_TRY(by_row_.ReserveFor<uint32_t>(2 * keys_all + starts_all));
  STRATA_TRY(sort_scratch_.Reserve(SortByRowScratchBytes(keys_most)));
  STRATA_TRY(partial_.ReserveFor<float>(sums_most));
  STRATA_TRY(row_gradients_.ReserveFor<float>(std::max<size_t>(RowElements(graph_, unique), 1)));
  keys_.clear();
  auto* sorted = by_row_.as<uint32_t>();
  for (size_t table = 0; table < tables_.size(); ++table) {
    const CompactRows& batch = tables_[table];
    const size_t keys = given_->keys(table).count;
    const size_t rows = unique.of_table(table).size();
    auto* const bags = sorted + keys;
    auto* const starts = bags + keys;
    SortByRow(exec_, batch.index, keys, rows, sorted, starts, sort_scratch_.all());
    if (batch.offsets != nullptr) {
      GpuBagsOfKeys(exec_, batch.samples * batch.slots, batch.offsets, bags);
    }
    keys_.push_back({.keys = keys,
                     .rows = rows,
                     .sorted = sorted,
                     .starts = starts,
                     .bags = batch.offsets == nullptr ? nullptr : bags});
    sorted = starts + rows + 1;
  }
  return {};
}

void GpuBackend::FillDense(const Columns& dense) {
  dense_ = dense;
  const Columns features{const_cast<float*>(given_->dense()), dense.width, dense.width,
                         GpuElement::kFp32};
  GpuCopyColumns(exec_, given_->samples(), features, dense);
}

void GpuBackend::FillEmbeddings(const Columns& embeddings) {
  if (!graph_.has_embeddings()) return;
  for (size_t table = 0; table < tables_.size(); ++table) {
    GpuPoolCompact(exec_, samples_, tables_[table], VectorsOfTable(graph_, table, embeddings));
  }
}

Status GpuBackend::Resize(size_t samples, size_t width, bool is_of_logit, Buffer* buffer) const {
  const GpuElement type = is_of_logit ? GpuElement::kFp32 : element_;
  const size_t stride = is_of_logit ? width : Aligned(width);
  const std::span<std::byte> before = buffer->memory_.all();
  STRATA_TRY(buffer->memory_.Reserve(std::max<size_t>(samples * stride, 1) * BytesOf(type)));
  // Products read the gaps between rows, too.
  const std::span<std::byte> now = buffer->memory_.all();
  if (now.data() != before.data()) {
    strata::Clear(exec_, now.data(), now.size());
    ++moves_;
  }
  buffer->all_ = {buffer->memory_.data(), stride, width, type, stride - width};
  buffer->samples_ = samples;
  return {};
}

void GpuBackend::Clear(Buffer* buffer) const {
  const Columns& all = buffer->all_;
  strata::Clear(exec_, all.data, buffer->samples_ * all.stride * BytesOf(all.type));
}

namespace {

// Matrix products compute these, too; others have kernels of their own.
bool IsFused(Activation activation) {
  return activation == Activation::kNone || activation == Activation::kRelu;
}

// Of a layer that gives one number, which is no matter for a matrix product.
bool IsDot(Activation activation, const GpuColumns& y) {
  return y.width == 1 && activation == Activation::kNone;
}

}  // namespace

Status GpuBackend::Linear(size_t samples, const Columns& x, const LayerParameters& parameters,
                          Activation activation, const Columns& y) {
  if (!IsFused(activation)) {
    STRATA_TRY(Linear(samples, x, parameters, Activation::kNone, y));
    Activate(samples, activation, y, y);
    return {};
  }
  if (IsDot(activation, y)) {
    GpuDot(exec_, samples, x, Fp32(parameters.weights), Fp32(parameters.biases), y, false);
    return {};
  }
  return Gemm({.m = samples,
               .n = y.width,
               .k = PaddedWidth(x),
               .a = OperandOf(x),
               .b = {Operand(parameters.weights), y.width},
               .c = y.data,
               .c_stride = y.stride,
               .relu = activation == Activation::kRelu,
               .bias = Operand(parameters.biases)});
}

Status GpuBackend::LinearBack(size_t samples, const Columns& x, const LayerParameters& parameters,
                              Activation activation, float dropout, const Columns& y,
                              const Columns& dy, const Columns& dx, bool adds) {
  if (!IsFused(activation)) {
    ActivateBack(samples, activation, y, dy, dy, /*adds=*/false);
    activation = Activation::kNone;
  }
  const bool relu = activation == Activation::kRelu;
  const float scale = 1.0F / (1.0F - dropout);
  const bool changes_dy = relu || dropout > 0;
  float* const sums = GradientOf(parameters.biases);
  std::byte* const parts =
      bias_parts_.as<std::byte>() + GpuSumScratchBytes(bias_columns_.at(parameters.biases.at));
  if (changes_dy) GpuReluBack(exec_, samples, relu, scale, y, dy, nullptr, parts);
  // The gradients of parameters go to no other layer.
  Mark();
  STRATA_TRY(Beside([&]() -> Status {
    if (changes_dy) {
      GpuJoinSums(exec_, dy.width, parts, sums);
    } else {
      GpuReluBack(exec_, samples, relu, scale, y, dy, sums, parts);
    }
    if (IsDot(activation, y)) {
      Sum(samples, x, dy, parameters.weights);
      return {};
    }
    return Gemm({.m = PaddedWidth(x),
                 .n = dy.width,
                 .k = samples,
                 .a = OperandOf(x, true),
                 .b = OperandOf(dy),
                 .c = GradientOf(parameters.weights),
                 .c_stride = dy.width,
                 .c_is_fp32 = true});
  }));
  if (dx.data == nullptr) return {};
  if (IsDot(activation, y)) {
    GpuDotBack(exec_, samples, Fp32(parameters.weights), dy, dx, adds);
    return {};
  }
  return Gemm({.m = samples,
               .n = PaddedWidth(dx),
               .k = dy.width,
               .a = OperandOf(dy),
               .b = {Operand(parameters.weights), dy.width, true},
               .c = dx.data,
               .c_stride = dx.stride,
               .adds = adds});
}

Status GpuBackend::Cross(size_t samples, const Columns& x0, const Columns& x,
                         const LayerParameters& parameters, Buffer* kept, const Columns& y) const {
  STRATA_TRY(Resize(samples, 2, true, kept));  // of both ways
  GpuCross(exec_, samples, x0, x, Fp32(parameters.weights), Fp32(parameters.biases), kept->fp32(),
           y);
  return {};
}

Status GpuBackend::CrossBack(size_t samples, const Columns& x0, const Columns& x,
                             const LayerParameters& parameters, Buffer& kept, const Columns& dy,
                             const Columns& dx0, const Columns& dx) {
  float* const dproducts = kept.fp32() + samples;
  Sum(samples, dy, {}, parameters.biases);
  GpuCrossBack(exec_, samples, x0, Fp32(parameters.weights), kept.fp32(), dy, dproducts, dx0, dx);
  Sum(samples, x, {dproducts, 1, 1, GpuElement::kFp32}, parameters.weights);
  return {};
}

Status GpuBackend::LowRankCross(size_t samples, size_t rank, const Columns& x0, const Columns& x,
                                const LayerParameters& parameters, Buffer* kept, const Columns& y) {
  STRATA_TRY(Resize(samples, Aligned(rank) + x.width, false, kept));
  const Columns projected = kept->From(0, rank);
  const Columns gates = kept->From(Aligned(rank), x.width);
  STRATA_TRY(Gemm({.m = samples,
                   .n = rank,
                   .k = PaddedWidth(x),
                   .a = OperandOf(x),
                   .b = {Operand(parameters.weights), rank},
                   .c = projected.data,
                   .c_stride = projected.stride}));
  STRATA_TRY(Gemm({.m = samples,
                   .n = x.width,
                   .k = rank,
                   .a = OperandOf(projected),
                   .b = {Operand(parameters.second_weights), x.width},
                   .c = gates.data,
                   .c_stride = gates.stride,
                   .bias = Operand(parameters.biases)}));
  GpuGated(exec_, samples, x0, gates, x, y);
  return {};
}

Status GpuBackend::LowRankCrossBack(size_t samples, size_t rank, const Columns& x0,
                                    const Columns& x, const LayerParameters& parameters,
                                    Buffer& kept, const Columns& dy, const Columns& dx0,
                                    const Columns& dx) {
  const Columns projected = kept.From(0, rank);
  const Columns gates = kept.From(Aligned(rank), x.width);
  STRATA_TRY(Resize(samples, x.width, false, &dgates_));
  STRATA_TRY(Resize(samples, rank, false, &dprojected_));
  const Columns dgates = dgates_.From(0, x.width);
  const Columns dprojected = dprojected_.From(0, rank);
  GpuGatedBack(exec_, samples, x0, gates, dy, dgates, dx0, dx, GradientOf(parameters.biases),
               SumScratch());
  STRATA_TRY(Gemm({.m = rank,
                   .n = x.width,
                   .k = samples,
                   .a = OperandOf(projected, true),
                   .b = OperandOf(dgates),
                   .c = GradientOf(parameters.second_weights),
                   .c_stride = x.width,
                   .c_is_fp32 = true}));
  STRATA_TRY(Gemm({.m = samples,
                   .n = rank,
                   .k = x.width,
                   .a = OperandOf(dgates),
                   .b = {Operand(parameters.second_weights), x.width, true},
                   .c = dprojected.data,
                   .c_stride = dprojected.stride}));
  STRATA_TRY(Gemm({.m = PaddedWidth(x),
                   .n = rank,
                   .k = samples,
                   .a = OperandOf(x, true),
                   .b = OperandOf(dprojected),
                   .c = GradientOf(parameters.weights),
                   .c_stride = rank,
                   .c_is_fp32 = true}));
  return Gemm({.m = samples,
               .n = PaddedWidth(dx),
               .k = rank,
               .a = OperandOf(dprojected),
               .b = {Operand(parameters.weights), rank, true},
               .c = dx.data,
               .c_stride = dx.stride,
               .adds = true});
}

Status GpuBackend::Fm(size_t samples, uint32_t vectors, const Columns& x, Buffer* kept,
                      const Columns& y) const {
  STRATA_TRY(Resize(samples, x.width / vectors, true, kept));
  GpuFm(exec_, samples, vectors, x, kept->fp32(), y);
  return {};
}

Status GpuBackend::LayerNorm(size_t samples, const Columns& x, const LayerParameters& parameters,
                             Buffer* kept, const Columns& y) const {
  STRATA_TRY(Resize(samples, 2, true, kept));
  GpuLayerNorm(exec_, samples, x, Fp32(parameters.scales), Fp32(parameters.biases), kept->fp32(),
               y);
  return {};
}

Status GpuBackend::LayerNormBack(size_t samples, const Columns& x,
                                 const LayerParameters& parameters, const Buffer& kept,
                                 const Columns& dy, const Columns& dx) {
  STRATA_TRY(Resize(samples, x.width, true, &dscales_));
  const Columns dscales = dscales_.From(0, x.width);
  Sum(samples, dy, {}, parameters.biases);
  GpuLayerNormBack(exec_, samples, x, Fp32(parameters.scales), kept.fp32(), dy, dscales, dx);
  Sum(samples, dscales, {}, parameters.scales);
  return {};
}

Status GpuBackend::BatchNorm(size_t samples, bool trains, const Columns& x,
                             const LayerParameters& parameters, Buffer* kept,
                             const Columns& y) const {
  STRATA_TRY(Resize(2, x.width, true, kept));
  const float* const statistics = Fp32(parameters.statistics);
  if (trains) {
    GpuBatchMoments(exec_, samples, x, statistics, kept->fp32(), GradientOf(parameters.statistics),
                    SumScratch());
  } else {
    GpuRunningMoments(exec_, x.width, statistics, kept->fp32());
  }
  GpuBatchNorm(exec_, samples, x, kept->fp32(), Fp32(parameters.scales), Fp32(parameters.biases),
               y);
  return {};
}

Status GpuBackend::BatchNormBack(size_t samples, const Columns& x,
                                 const LayerParameters& parameters, const Buffer& kept,
                                 const Columns& dy, const Columns& dx, bool adds) const {
  float* const dscales = GradientOf(parameters.scales);
  float* const dbiases = GradientOf(parameters.biases);
  GpuBatchNormSums(exec_, samples, x, kept.fp32(), dy, dscales, dbiases, SumScratch());
  if (dx.data == nullptr) return {};
  GpuBatchNormBack(exec_, samples, x, kept.fp32(), Fp32(parameters.scales), dscales, dbiases, dy,
                   dx, adds);
  return {};
}

void GpuBackend::Wide(size_t samples, const LayerParameters& parameters, const Columns& y) const {
  const float* bias = Fp32(parameters.biases);
  for (size_t table = 0; table < tables_.size(); ++table) {
    if (pooled_.empty()) {
      GpuPoolWeights(exec_, samples, tables_[table], bias, y);
    } else {
      GpuSumPooledWeights(exec_, samples, pooled_[table], bias, y);
    }
    bias = nullptr;  // it is in y
  }
  if (dense_.width == 0) return;
  GpuDot(exec_, samples, dense_, Fp32(parameters.weights), nullptr, y, true);
}

void GpuBackend::WideBack(size_t samples, const LayerParameters& parameters, const Columns& dy) {
  dlogits_ = dy;
  Mark();
  Beside([&] {
    Sum(samples, dy, {}, parameters.biases);
    if (dense_.width > 0) Sum(samples, dense_, dy, parameters.weights);
  });
}

void GpuBackend::Loss(const Columns& logits, float scale, const Columns& dlogits) {
  auto* const losses = losses_.as<double>();
  const auto run = graph_.spec().loss == LossKind::kMse ? &GpuSquaredErrors : &GpuCrossEntropy;
  run(exec_, samples_, logits, given_->labels(), given_->weights(), scale, dlogits, losses + 1);
}

void GpuBackend::RowGradients(const Columns& dembeddings, float l2) {
  float* gradients = row_gradients_.as<float>();
  for (size_t table = 0; table < tables_.size(); ++table) {
    const CompactRows& batch = tables_[table];
    const Columns vectors =
        graph_.has_embeddings() ? VectorsOfTable(graph_, table, dembeddings) : Columns{};
    GpuRowGradients(exec_, batch, keys_[table], vectors, dlogits_, l2, partial_.as<float>(),
                    gradients);
    gradients += keys_[table].rows * batch.row_dim();
  }
}

// Biases have none.
void GpuBackend::Penalise(float scale) {
  for (const GraphLayer& layer : graph_.layers()) {
    const LayerParameters& its = layer.parameters;
    for (const ParameterRange& range : {its.weights, its.second_weights}) {
      GpuAddPenalty(exec_, range.count, scale, Fp32(range), GradientOf(range));
    }
  }
}

double GpuBackend::GetLoss(const Columns& logits, std::span<float> to) {
  SendLoss(exec_, logits, to);
  MustBegin("a click model");
  Wait(exec_);
  return loss();
}

void GpuBackend::SendLoss(const Exec& exec, const Columns& logits, std::span<float> to) {
  auto* const loss = reinterpret_cast<double*>(host_loss_.get());
  auto* const losses = losses_.as<double>();
  GpuSumLosses(exec, samples_, losses + 1, losses);
  CopyDown(exec, losses, std::span(loss, 1));
  SendLogits(exec, logits, to);
}

void GpuBackend::GetGradients(const NetworkGradients& gradients) {
  if (!gradients.rows.empty()) CopyDown(exec_, row_gradients_.as<float>(), gradients.rows);
  CopyDown(exec_, parameter_gradients_.as<float>(), std::span(host_parameters_));
  Wait(exec_);
  ForEachRange([&](size_t place, const ParameterRange& range) {
    std::copy_n(host_parameters_.begin() + place, range.count,
                gradients.parameters.begin() + range.at);
  });
}

void GpuBackend::GetLogits(const Columns& logits, std::span<float> to) {
  SendLogits(exec_, logits, to);
  MustBegin("a click model");
  Wait(exec_);
}

void GpuBackend::SendLogits(const Exec& exec, const Columns& logits, std::span<float> to) {
  STRATA_CHECK(logits.type == GpuElement::kFp32 && logits.stride == 1);
  if (!to.empty()) CopyDown(exec, static_cast<const float*>(logits.data), to);
}

// The gaps between samples come down, too.
void GpuBackend::Read(size_t samples, const Columns& from, std::vector<float>* to) const {
  const size_t elements = samples == 0 ? 0 : (samples - 1) * from.stride + from.width;
  const bool is_narrow = from.type == GpuElement::kBf16;
  std::vector<float> wide(is_narrow ? 0 : elements);
  std::vector<uint16_t> narrow(is_narrow ? elements : 0);
  if (!wide.empty()) CopyDown(exec_, static_cast<const float*>(from.data), std::span(wide));
  if (!narrow.empty()) CopyDown(exec_, static_cast<const uint16_t*>(from.data), std::span(narrow));
  Wait(exec_);
  to->resize(samples * from.width);
  for (size_t sample = 0; sample < samples; ++sample) {
    for (size_t column = 0; column < from.width; ++column) {
      const size_t at = sample * from.stride + column;
      (*to)[sample * from.width + column] =
          is_narrow ? std::bit_cast<float>(uint32_t{narrow[at]} << 16) : wide[at];
    }
  }
}

}  // namespace strata
