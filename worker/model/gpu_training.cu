#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "kernels/core/cuda_status.cuh"
#include "storage/gpu/gpu_calls.cuh"
#include "storage/gpu/pinned_pool.h"
#include "strata/gpu/embedding_group.h"
#include "worker/model/gpu_backend.h"
#include "worker/model/gpu_pass.h"
#include "worker/model/gpu_training.h"
#include "worker/model/pass_checks.h"

namespace strata {
namespace {

constexpr size_t kVectorBytes = 16;  // where a group's vectors may begin
constexpr size_t kVectorElements = kVectorBytes / BytesOf(GpuElement::kBf16);
constexpr int kCopyThreadsMax = 8;  // that bring a batch

// A stream whose kernels get a processor before those of other streams.
Result<cudaStream_t> MakeUrgentStream() {
  int least = 0;
  int most = 0;
  Must(FromCuda(cudaDeviceGetStreamPriorityRange(&least, &most), "the priorities of streams"));
  cudaStream_t stream = nullptr;
  STRATA_TRY(FromAllocation(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, most),
                            "a stream"));
  return stream;
}

// Whether the graph has one factorization machine, over all embeddings, and no layer gives them a
// gradient after it: on the way back layers come from the last to the first.
bool EndsWithFm(const LayerGraph& graph) {
  bool ends = false;
  for (const GraphLayer& layer : graph.layers()) {
    const bool is_fm = layer.spec.kind == LayerKind::kFm;
    if (is_fm && (ends || layer.inputs[0] != LayerGraph::kEmbeddings)) return false;
    if (!is_fm && !ends && layer.spec.kind != LayerKind::kWide) return false;
    ends = ends || is_fm;
  }
  return ends;
}

class LocalGpuTraining final : public GpuTraining {
 public:
  LocalGpuTraining(LayerGraph graph, const Exec& exec, cudaStream_t copies,
                   std::unique_ptr<WorkPool> threads, const GpuTrainingOptions& options)
      : graph_(std::move(graph)),
        exec_(exec),
        copies_(copies),
        optimizer_(options.dense_optimizer),
        threads_(std::move(threads)),
        batches_{{exec, copies, *threads_, graph_.table_slots()},
                 {exec, copies, *threads_, graph_.table_slots()}},
        backend_(exec, options.precision, graph_),
        executor_(graph_, backend_),
        forward_(exec),
        backward_(exec) {}
  ~LocalGpuTraining() override {
    const DeviceScope device(exec_.ordinal);
    groups_.clear();
    for (const cudaStream_t stream : {StreamOf(exec_), copies_, answers_}) {
      if (stream == nullptr) continue;
      (void)cudaStreamSynchronize(stream);
      (void)cudaStreamDestroy(stream);
    }
    for (const cudaEvent_t event : {computed_, answered_}) {
      if (event != nullptr) (void)cudaEventDestroy(event);
    }
  }
  Status Open(TableStore& store, std::span<const TableSpec> tables) {
    STRATA_ASSIGN(answers_, MakeStream());
    STRATA_ASSIGN(computed_, MakeEvent());
    STRATA_ASSIGN(answered_, MakeEvent());
    for (GpuBatch& batch : batches_) STRATA_TRY(batch.Make());
    STRATA_TRY(backend_.Make());
    if (graph_.has_key_weights() && EndsWithFm(graph_)) backend_.LeaveFm();
    return OpenGroups(store, tables);
  }

  Status SetDense(std::span<const float> parameters, std::span<const float> state) override {
    const DeviceScope device(exec_.ordinal);
    backend_.SetParameters(parameters);
    return backend_.SetState(optimizer_, state);
  }
  void GetDense(std::span<float> parameters, std::span<float> state) override {
    const DeviceScope device(exec_.ordinal);
    backend_.GetParameters(parameters);
    backend_.GetState(state);
  }

  Status Bring(const Batch& batch) override;
  void Forget() override { next_ = 1 - current_; }
  Status Begin(const Regularisation& regularisation) override;
  Result<BatchLoss> Finish() override;
  std::optional<NotFinitePlace> FirstNotFinite() override {
    const DeviceScope device(exec_.ordinal);
    return executor_.FirstNotFinite();
  }
  Status Update(uint64_t step) override;

 private:
  // Tables that follow each other and have one optimizer.
  struct Group {
    size_t first = 0;
    size_t count = 0;
    std::unique_ptr<EmbeddingGroup> tables;
  };
  // A table's part of pooled_, from `column` on. Its `pooled` has no data where the group writes
  // the vectors to the graph's own place.
  struct TableRows {
    size_t column = 0;
    PooledRows rows;
    size_t width() const { return rows.slots * rows.row_stride; }
    bool is_direct() const { return rows.pooled.data == nullptr; }
  };

  size_t tables() const { return rows_.size(); }
  Status OpenGroups(TableStore& store, std::span<const TableSpec> tables);
  // Whether a group may write a table's vectors where the graph wants them.
  bool IsDirect(const GpuColumns& vectors) const {
    return !graph_.has_key_weights() &&
           reinterpret_cast<uintptr_t>(vectors.data) % kVectorBytes == 0;
  }
  // Elements from one pooled row to the next. Rows that begin with a weight have a length for which
  // four elements cannot be moved at once; the graph takes them from there by kernels of its own.
  size_t RowStride(size_t table) const {
    const size_t row_dim = graph_.row_dim(table);
    return graph_.has_key_weights() ? (row_dim + 3) / 4 * 4 : row_dim;
  }
  // Places the rows of all tables in pooled_.
  Status PlaceRows(size_t samples, const GpuColumns& embeddings);
  Status ForwardRows();
  Status RunForward(const Regularisation& regularisation);
  void SendLoss();
  Status BackwardRows(uint64_t step);
  PooledType type() const {
    return backend_.element() == GpuElement::kBf16 ? PooledType::kBFloat16 : PooledType::kFloat32;
  }

  const LayerGraph graph_;
  const Exec exec_;  // its stream is the training's own
  const cudaStream_t copies_;
  const OptimizerSpec optimizer_;
  const std::unique_ptr<WorkPool> threads_;
  GpuBatch batches_[2];  // that take turns
  int current_ = 1;      // the one that is worked on
  int next_ = 0;         // the one that is brought next
  GpuBackend backend_;
  GraphExecutor<GpuBackend> executor_;
  GpuPass forward_;  // of the layers, up to the loss
  GpuPass backward_;
  cudaStream_t answers_ = nullptr;  // brings down the loss and the logits
  cudaEvent_t computed_ = nullptr;  // the loss, on the stream of exec_
  cudaEvent_t answered_ = nullptr;  // on answers_
  std::vector<Group> groups_;
  std::vector<TableRows> rows_;  // by table
  size_t pooled_width_ = 0;
  GpuBackend::Buffer pooled_;
  GpuBackend::Buffer pooled_gradients_;
  // Pinned: a copy to other memory takes several times as long.
  const std::shared_ptr<PinnedPool> pinned_ = PinnedPool::Make();
  std::shared_ptr<float[]> logits_;
  size_t logits_room_ = 0;
};

Status LocalGpuTraining::OpenGroups(TableStore& store, std::span<const TableSpec> tables) {
  STRATA_CHECK(tables.size() == graph_.spec().tables.size());
  rows_.resize(tables.size());
  for (size_t first = 0; first < tables.size(); first += groups_.back().count) {
    std::vector<std::string> names;
    for (const TableSpec& table : tables.subspan(first)) {
      if (names.size() == kPoolTablesMax || table.optimizer != tables[first].optimizer) break;
      names.push_back(table.name);
    }
    STRATA_ASSIGN(auto group, EmbeddingGroup::Open(store, names, exec_));
    groups_.push_back({first, names.size(), std::move(group)});
  }
  return {};
}

Status LocalGpuTraining::PlaceRows(size_t samples, const GpuColumns& embeddings) {
  pooled_width_ = 0;
  for (size_t table = 0; table < tables(); ++table) {
    TableRows& its = rows_[table];
    its = {};
    if (IsDirect(VectorsOfTable(graph_, table, embeddings))) continue;
    const GraphTable& spec = graph_.spec().tables[table];
    its.rows = {.slots = spec.slots, .dim = spec.dim, .row_stride = RowStride(table)};
    // Each begins where a vector of kVectorBytes may, of elements of either type.
    its.column = (pooled_width_ + kVectorElements - 1) / kVectorElements * kVectorElements;
    pooled_width_ = its.column + its.width();
  }
  if (pooled_width_ == 0) return {};
  STRATA_TRY(backend_.Resize(samples, pooled_width_, false, &pooled_));
  for (TableRows& its : rows_) {
    if (its.width() > 0) its.rows.pooled = pooled_.From(its.column, its.width());
  }
  return {};
}

Status LocalGpuTraining::ForwardRows() {
  const GpuBatch& batch = batches_[current_];
  const GpuColumns embeddings = executor_.Value(LayerGraph::kEmbeddings);
  STRATA_TRY(PlaceRows(batch.samples(), embeddings));
  std::vector<EmbeddingBags> bags;
  for (size_t table = 0; table < tables(); ++table) {
    const GraphTable& spec = graph_.spec().tables[table];
    const GpuKeys& keys = batch.keys(table);
    const GpuColumns out = rows_[table].is_direct() ? VectorsOfTable(graph_, table, embeddings)
                                                    : rows_[table].rows.pooled;
    bags.push_back({.keys = keys.count,
                    .offsets = keys.offsets,
                    .weights = keys.weights,
                    .bags = batch.samples() * spec.slots,
                    .out = out.data,
                    .stride = out.stride,
                    .slots = spec.slots,
                    .vector_stride = RowStride(table),
                    .combiner = spec.combiner});
  }
  for (const Group& group : groups_) {
    STRATA_TRY(group.tables->Forward(BagBatch{batch.keys(group.first).keys,
                                              std::span(bags).subspan(group.first, group.count),
                                              type(), batch.copied()}));
  }
  std::vector<PooledRows> with_weights;
  for (size_t table = 0; table < tables(); ++table) {
    const PooledRows& rows = rows_[table].rows;
    if (graph_.has_key_weights()) with_weights.push_back(rows);
    if (rows_[table].is_direct()) continue;
    const GpuColumns vectors = VectorsOfTable(graph_, table, embeddings);
    if (!graph_.has_key_weights()) {
      GpuCopyColumns(exec_, batch.samples(), rows.pooled, vectors);
    } else if (graph_.has_embeddings()) {
      GpuTakeVectors(exec_, batch.samples(), rows, vectors);
    }
  }
  backend_.SetPooled(std::move(with_weights));
  return {};
}

// Vectors that no layer takes have a gradient of zeros.
Status LocalGpuTraining::BackwardRows(uint64_t step) {
  const size_t samples = executor_.samples();
  const GpuColumns dembeddings = executor_.Gradient(LayerGraph::kEmbeddings);
  if (pooled_width_ > 0) {
    STRATA_TRY(backend_.Resize(samples, pooled_width_, false, &pooled_gradients_));
  }
  std::vector<const void*> gradients;
  for (size_t table = 0; table < tables(); ++table) {
    const TableRows& its = rows_[table];
    const GpuColumns vectors = VectorsOfTable(graph_, table, dembeddings);
    if (its.is_direct()) {
      gradients.push_back(vectors.data);
      continue;
    }
    PooledRows to = its.rows;
    to.pooled = pooled_gradients_.From(its.column, its.width());
    if (graph_.has_key_weights()) {
      FmGradient fm = backend_.fm();
      if (fm.vectors.data != nullptr) fm.vectors = VectorsOfTable(graph_, table, fm.vectors);
      GpuGiveGradients(exec_, samples, backend_.dlogits_of_wide(), vectors, to, fm);
    } else {
      GpuCopyColumns(exec_, samples, vectors, to.pooled);
    }
    gradients.push_back(to.pooled.data);
  }
  for (const Group& group : groups_) {
    STRATA_TRY(
        group.tables->Backward(std::span(gradients).subspan(group.first, group.count), step));
  }
  return {};
}

Status LocalGpuTraining::Bring(const Batch& batch) {
  const DeviceScope device(exec_.ordinal);
  STRATA_CHECK(batch.samples > 0);
  CheckBatch(graph_, batch);
  STRATA_TRY(batches_[next_].Bring(batch, batch.key_weights));
  next_ = 1 - next_;
  return {};
}

Status LocalGpuTraining::Begin(const Regularisation& regularisation) {
  STRATA_CHECK(regularisation.l2 == 0);
  const DeviceScope device(exec_.ordinal);
  current_ = 1 - current_;
  const GpuBatch& batch = batches_[current_];
  batch.Begin();
  STRATA_TRY(backend_.SetBatch(batch, batch.samples()));
  STRATA_TRY(executor_.Begin(batch.samples(), /*trains=*/true));
  STRATA_TRY(executor_.BeginBackward());
  if (batch.slots() > 0) STRATA_TRY(ForwardRows());
  if (regularisation.dropout > 0) backend_.SetSeed(regularisation.dropout_seed);
  const auto run = [&](GpuPass& pass, const std::function<Status()>& enqueue) {
    return pass.Run({.moves = backend_.moves(),
                     .samples = batch.samples(),
                     .dense = batch.dense(),
                     .labels = batch.labels(),
                     .weights = batch.weights(),
                     .dropout = regularisation.dropout},
                    enqueue);
  };
  STRATA_TRY(run(forward_, [&] { return RunForward(regularisation); }));
  SendLoss();
  STRATA_TRY(run(backward_, [&] { return executor_.Backward(regularisation); }));
  MustBegin("a click model");
  return {};
}

Status LocalGpuTraining::RunForward(const Regularisation& regularisation) {
  backend_.FillDense(executor_.Value(LayerGraph::kDense));
  STRATA_TRY(executor_.Forward(regularisation));
  backend_.Loss(executor_.Value(graph_.output()), 1.0F / static_cast<float>(executor_.samples()),
                executor_.Gradient(graph_.output()));
  return {};
}

// On a stream of its own, so that the GPU goes on with the way back at once: the host then has the
// loss early enough to enqueue the update before the GPU is through.
void LocalGpuTraining::SendLoss() {
  const size_t samples = executor_.samples();
  if (logits_room_ < samples) {
    logits_ = pinned_->Take(samples);
    logits_room_ = samples;
  }
  Must(FromCuda(cudaEventRecord(computed_, StreamOf(exec_)), "the GPU"));
  Must(FromCuda(cudaStreamWaitEvent(answers_, computed_), "the GPU"));
  backend_.SendLoss({exec_.device, exec_.ordinal, answers_}, executor_.Value(graph_.output()),
                    {logits_.get(), samples});
  Must(FromCuda(cudaEventRecord(answered_, answers_), "the GPU"));
}

Result<BatchLoss> LocalGpuTraining::Finish() {
  const DeviceScope device(exec_.ordinal);
  Must(FromCuda(cudaEventSynchronize(answered_), "the GPU"));
  return BatchLoss{backend_.loss(), {logits_.get(), executor_.samples()}};
}

Status LocalGpuTraining::Update(uint64_t step) {
  const DeviceScope device(exec_.ordinal);
  backend_.Mark();
  if (batches_[current_].slots() > 0) STRATA_TRY(BackwardRows(step));
  backend_.Beside([&] { backend_.Apply(optimizer_, step); });  // beside the rows' update
  backend_.Join();
  batches_[current_].End();
  return {};
}

}  // namespace

Result<std::unique_ptr<GpuTraining>> GpuTraining::Make(LayerGraph graph, TableStore& store,
                                                       const GpuTrainingOptions& options) {
  STRATA_TRY(CheckDevice(options.gpu));
  const DeviceScope device(options.gpu);
  // What a step waits for goes before what runs beside it.
  STRATA_ASSIGN(const cudaStream_t stream, MakeUrgentStream());
  STRATA_ASSIGN(const cudaStream_t copies, MakeStream());
  // Beside the calling one, and at most half of the processor's, as others read and parse.
  const auto cores = static_cast<int>(std::thread::hardware_concurrency());
  STRATA_ASSIGN(auto threads,
                WorkPool::Start("batch", std::clamp(cores / 2, 1, kCopyThreadsMax) - 1));
  auto training = std::make_unique<LocalGpuTraining>(std::move(graph),
                                                     Exec{DeviceKind::kCuda, options.gpu, stream},
                                                     copies, std::move(threads), options);
  STRATA_TRY(training->Open(store, options.tables));
  return Result<std::unique_ptr<GpuTraining>>(std::move(training));
}

}  // namespace strata
