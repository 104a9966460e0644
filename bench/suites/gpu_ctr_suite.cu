// Suite "ctr" on a GPU: steps of click models whose rows are on it. Peers' figures are recorded:
// PyTorch on one H100 with torch.compile and a CUDA graph, from batches that are on the GPU.
#include <cuda_runtime.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/thread/thread.h"
#include "bench/harness/figure.h"
#include "bench/harness/gpu_buffer.cuh"
#include "bench/harness/gpu_time.cuh"
#include "bench/suites/ctr/click_shapes.h"
#include "bench/suites/gpu_runs.h"
#include "kernels/core/cuda_status.cuh"
#include "kernels/dense/gpu/gemm.h"
#include "kernels/optim/apply.h"
#include "storage/gpu/gpu_store.h"
#include "strata/table_spec.h"
#include "worker/model/gpu_training.h"
#include "worker/model/model_shape.h"
#include "worker/model/network.h"

namespace strata::bench {
namespace {

constexpr uint64_t kRows = 1'000'000;  // of each slot
constexpr size_t kBatches = 4;         // that take turns
constexpr char kTable[] = "rows";

// Floating-point operations a second of large products in this precision.
Result<double> GemmPeak(const Exec& exec) {
  constexpr size_t kSide = 8192;
  GpuBuffer<uint16_t> a;
  GpuBuffer<uint16_t> b;
  GpuBuffer<uint16_t> c;
  for (auto* const buffer : {&a, &b, &c}) STRATA_TRY(buffer->Make(kSide * kSide));
  const std::vector<uint16_t> ones(kSide * kSide, 0x3f80);
  STRATA_TRY(a.Set(ones));
  STRATA_TRY(b.Set(ones));
  STRATA_ASSIGN(const auto gemm, MakeGpuGemm(exec, GemmPrecision::kBf16));
  Status failed;
  STRATA_ASSIGN(const double seconds, SecondsOf([&](int) {
                  const Status status = gemm->Run({.m = kSide,
                                                   .n = kSide,
                                                   .k = kSide,
                                                   .a = {a.data(), kSide},
                                                   .b = {b.data(), kSide},
                                                   .c = c.data(),
                                                   .c_stride = kSide});
                  if (failed.ok()) failed = status;
                }));
  STRATA_TRY(failed);
  return 2.0 * kSide * kSide * kSide / seconds;
}

// A step as GpuTrainer makes it: the next batch comes while the GPU works.
class Steps {
 public:
  explicit Steps(GpuTraining& training) : training_(training) {}

  Status Run(const Batch& next) {
    Status brought;
    STRATA_ASSIGN(std::jthread bring,
                  StartThread("bring", [&] { brought = training_.Bring(next); }));
    STRATA_TRY(training_.Begin({}));
    STRATA_ASSIGN(const BatchLoss loss, training_.Finish());
    if (!std::isfinite(loss.sum)) return Failed("the loss is no number");
    STRATA_TRY(training_.Update(++step_));
    bring.join();
    return brought;
  }
  Status First(const Batch& batch) { return training_.Bring(batch); }

 private:
  GpuTraining& training_;
  uint64_t step_ = 0;
};

}  // namespace

Result<std::vector<Figure>> RunCtr(const CtrCase& of) {
  STRATA_ASSIGN(const ModelShape shape, ClickShape(of.model, of.dim));
  const LayerGraph graph = GraphOf(shape);
  STRATA_ASSIGN(const OptimizerKind rows_rule, ParseOptimizerKind(of.optimizer));
  const TableSpec table{.name = kTable,
                        .dim = graph.row_dim(0),
                        .optimizer = {.kind = rows_rule, .learning_rate = 0.01F},
                        .initializer = {InitializerKind::kUniform, 0.05F},
                        .seed = 1,
                        .value_type = of.bf16_rows ? ElementType::kBf16 : ElementType::kFp32,
                        .state_type = of.bf16_rows ? ElementType::kBf16 : ElementType::kFp32};
  const OptimizerSpec dense{.kind = OptimizerKind::kAdam, .learning_rate = 1e-4F};
  STRATA_ASSIGN(const int gpu, CurrentGpu());
  STRATA_ASSIGN(const double peak, GemmPeak({DeviceKind::kCuda, gpu, nullptr}));
  STRATA_ASSIGN(const auto store, MakeLocalGpuStore({.device = gpu}));
  STRATA_TRY(store->CreateTable(table));
  STRATA_ASSIGN(const auto training, GpuTraining::Make(graph, *store,
                                                       {.gpu = gpu,
                                                        .precision = GemmPrecision::kBf16,
                                                        .dense_optimizer = dense,
                                                        .tables = {table}}));
  std::vector<float> parameters(graph.parameters());
  std::vector<float> state(StateWidth(dense, graph.learned_parameters()));
  InitializeParameters(graph, 1, parameters);
  InitialState(dense, state);
  STRATA_TRY(training->SetDense(parameters, state));

  std::vector<Batch> batches;
  for (uint64_t b = 0; b < kBatches; ++b) {
    batches.push_back(MakeClickBatch(of.batch, b, [&](size_t i, uint64_t slot) {
      return DrawRow((b * of.batch + i) * kClickSlots + slot, kRows);
    }));
  }
  Steps steps(*training);
  constexpr uint64_t kFill = 65'536;
  STRATA_TRY(steps.First(batches[0]));
  for (uint64_t first = 0; first < kRows; first += kFill) {
    STRATA_TRY(steps.Run(MakeClickBatch(
        kFill, first, [&](size_t i, uint64_t) { return std::min(first + i, kRows - 1); })));
  }
  STRATA_TRY(steps.Run(batches[0]));
  constexpr int kSteps = 24;
  double best = 1e9;
  for (int round = 0; round < 3; ++round) {
    STRATA_TRY(FromCuda(cudaDeviceSynchronize(), "before the steps"));
    const TimeNs began = RealClock().Now();
    for (int i = 0; i < kSteps; ++i) {
      STRATA_TRY(steps.Run(batches[static_cast<size_t>(i + 1) % kBatches]));
    }
    STRATA_TRY(FromCuda(cudaDeviceSynchronize(), "the steps"));
    best = std::min(best, SecondsBetween(began, RealClock().Now()) / kSteps);
  }
  Figure figure;
  figure.name = of.Name();
  figure.unit = "M samples/s";
  figure.ours = static_cast<double>(of.batch) / best * 1e-6;
  figure.limit = peak / FlopsOf(graph) * 1e-6;
  if (of.torch > 0) {
    figure.peer = "PyTorch compiled, H100 (recorded)";
    figure.recorded = true;
    figure.peer_value = of.torch;
  }
  return std::vector<Figure>{std::move(figure)};
}

}  // namespace strata::bench
