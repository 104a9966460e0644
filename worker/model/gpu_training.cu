#include <algorithm>
#include <functional>
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
constexpr int kCopyThreadsMax = 8;   // that bring a batch

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
        batches_{{exec, copies, *threads_}, {exec, copies, *threads_}},
        backend_(exec, options.precision, graph_),
        executor_(graph_, backend_),
        forward_(exec),
        backward_(exec) {}
  ~LocalGpuTraining() override {
    const DeviceScope device(exec_.ordinal);
    group_.reset();
    for (const cudaStream_t stream : {StreamOf(exec_), copies_, answers_}) {
      if (stream == nullptr) continue;
      (void)cudaStreamSynchronize(stream);
      (void)cudaStreamDestroy(stream);
    }
    for (const cudaEvent_t event : {computed_, answered_}) {
      if (event != nullptr) (void)cudaEventDestroy(event);
    }
  }
  Status Open(TableStore& store, const std::string& table) {
    STRATA_ASSIGN(answers_, MakeStream());
    STRATA_ASSIGN(computed_, MakeEvent());
    STRATA_ASSIGN(answered_, MakeEvent());
    for (GpuBatch& batch : batches_) STRATA_TRY(batch.Make());
    STRATA_TRY(backend_.Make());
    if (graph_.has_key_weights() && EndsWithFm(graph_)) backend_.LeaveFm();
    STRATA_ASSIGN(group_, EmbeddingGroup::Open(store, {&table, 1}, exec_));
    return {};
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
  // Whether the group may write the vectors where the graph wants them.
  bool IsDirect(const GpuColumns& embeddings) const {
    return !graph_.has_key_weights() &&
           reinterpret_cast<uintptr_t>(embeddings.data) % kVectorBytes == 0;
  }
  // Elements from one pooled row to the next. Rows that begin with a weight have a length for which
  // four elements cannot be moved at once; the graph takes them from there by kernels of its own.
  size_t RowStride() const {
    const size_t row_dim = graph_.row_dim(0);
    return graph_.has_key_weights() ? (row_dim + 3) / 4 * 4 : row_dim;
  }
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
  std::unique_ptr<EmbeddingGroup> group_;
  GpuBackend::Buffer pooled_;
  GpuBackend::Buffer pooled_gradients_;
  // Pinned: a copy to other memory takes several times as long.
  const std::shared_ptr<PinnedPool> pinned_ = PinnedPool::Make();
  std::shared_ptr<float[]> logits_;
  size_t logits_room_ = 0;
  PooledRows rows_;  // into pooled_; no data where the group writes to the graph's own place
};

Status LocalGpuTraining::ForwardRows() {
  const GpuBatch& batch = batches_[current_];
  const size_t row_stride = RowStride();
  const GpuColumns embeddings = executor_.Value(LayerGraph::kEmbeddings);
  GpuColumns out = embeddings;
  rows_ = {};
  if (!IsDirect(embeddings)) {
    STRATA_TRY(backend_.Resize(batch.samples(), batch.slots() * row_stride, false, &pooled_));
    out = pooled_.From(0, batch.slots() * row_stride);
    const size_t dim = graph_.row_dim(0) - (graph_.has_key_weights() ? 1 : 0);
    rows_ = {out, batch.slots(), dim, row_stride};
  }
  const EmbeddingBags bags{.keys = batch.key_count(),
                           .offsets = batch.offsets(),
                           .weights = batch.key_weights(),
                           .bags = batch.samples() * batch.slots(),
                           .out = out.data,
                           .stride = out.stride,
                           .slots = static_cast<uint32_t>(batch.slots()),
                           .vector_stride = row_stride,
                           .combiner = graph_.spec().tables[0].combiner};
  STRATA_TRY(group_->Forward(BagBatch{batch.keys(), {&bags, 1}, type(), batch.copied()}));
  if (rows_.pooled.data == nullptr) return {};
  if (graph_.has_key_weights()) {
    backend_.SetPooled(rows_);
    if (graph_.has_embeddings()) GpuTakeVectors(exec_, batch.samples(), rows_, embeddings);
  } else {
    GpuCopyColumns(exec_, batch.samples(), out, embeddings);
  }
  return {};
}

Status LocalGpuTraining::BackwardRows(uint64_t step) {
  const void* gradients = nullptr;
  const GpuColumns dembeddings =
      graph_.has_embeddings() ? executor_.Gradient(LayerGraph::kEmbeddings) : GpuColumns{};
  if (rows_.pooled.data == nullptr) {
    gradients = dembeddings.data;
  } else {
    const size_t width = rows_.slots * rows_.row_stride;
    STRATA_TRY(backend_.Resize(executor_.samples(), width, false, &pooled_gradients_));
    PooledRows to = rows_;
    to.pooled = pooled_gradients_.From(0, width);
    if (graph_.has_key_weights()) {
      GpuGiveGradients(exec_, executor_.samples(), backend_.dlogits_of_wide(), dembeddings, to,
                       backend_.fm());
    } else {
      GpuCopyColumns(exec_, executor_.samples(), dembeddings, to.pooled);
    }
    gradients = to.pooled.data;
  }
  return group_->Backward({&gradients, 1}, step);
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
  STRATA_TRY(executor_.Begin(batch.samples()));
  STRATA_TRY(executor_.BeginBackward());
  if (batch.slots() > 0) STRATA_TRY(ForwardRows());
  const auto run = [&](GpuPass& pass, const std::function<Status()>& enqueue) {
    if (regularisation.dropout > 0) return enqueue();  // it has a new seed each step
    return pass.Run({.moves = backend_.moves(),
                     .samples = batch.samples(),
                     .dense = batch.dense(),
                     .labels = batch.labels(),
                     .weights = batch.weights()},
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
  STRATA_TRY(training->Open(store, options.table));
  return Result<std::unique_ptr<GpuTraining>>(std::move(training));
}

}  // namespace strata
