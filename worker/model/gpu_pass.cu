#include "storage/gpu/gpu_calls.cuh"
#include "worker/model/gpu_pass.h"

namespace strata {

namespace {

// A run has two batches in turn, and few sizes of them.
constexpr size_t kGraphsMax = 16;

}  // namespace

GpuPass::~GpuPass() { Forget(); }

void GpuPass::Forget() {
  for (const auto& [key, graph] : graphs_) {
    if (graph != nullptr) (void)cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(graph));
  }
  graphs_.clear();
}

Status GpuPass::Run(const Key& key, const std::function<Status()>& enqueue) {
  if (has_no_graphs_) return enqueue();
  const auto found = graphs_.find(key);
  if (found == graphs_.end()) {
    STRATA_TRY(enqueue());
    // Of memory that has moved no graph is of use any more.
    if (graphs_.size() >= kGraphsMax ||
        (!graphs_.empty() && graphs_.begin()->first.moves != key.moves)) {
      Wait(exec_);
      Forget();
    }
    graphs_[key] = nullptr;
    return {};
  }
  const cudaStream_t stream = StreamOf(exec_);
  auto* graph = static_cast<cudaGraphExec_t>(found->second);
  if (graph == nullptr) {
    const cudaError_t began = cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
    if (began == cudaErrorNotSupported) {  // an emulated GPU
      (void)cudaGetLastError();
      has_no_graphs_ = true;
      return enqueue();
    }
    STRATA_TRY(FromCuda(began, "recording a step"));
    const Status enqueued = enqueue();
    cudaGraph_t recorded = nullptr;
    const Status ended = FromCuda(cudaStreamEndCapture(stream, &recorded), "recording a step");
    Status made = enqueued.ok() ? ended : enqueued;
    if (made.ok()) made = FromCuda(cudaGraphInstantiate(&graph, recorded, 0), "a graph of a step");
    if (recorded != nullptr) (void)cudaGraphDestroy(recorded);
    STRATA_TRY(made);
    found->second = graph;
  }
  return FromCuda(cudaGraphLaunch(graph, stream), "a step");
}

}  // namespace strata
