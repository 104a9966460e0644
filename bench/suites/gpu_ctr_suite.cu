// Suite "ctr" on a GPU: steps of click models whose rows are on it. Peers' figures are recorded:
// PyTorch on one H100 with torch.compile and a CUDA graph, from batches that are on the GPU.
#include <cuda_runtime.h>
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <memory>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/hash.h"
#include "base/thread/thread.h"
#include "bench/harness/figure.h"
#include "bench/harness/gpu_buffer.cuh"
#include "bench/harness/gpu_time.cuh"
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

constexpr uint32_t kSlots = 26;
constexpr uint64_t kRows = 1'000'000;  // of each slot
constexpr size_t kBatches = 4;         // that take turns
constexpr char kTable[] = "rows";

// A batch of one key a slot; row(i, slot) is each sample's, from 0 on.
template <typename Row>
Batch MakeBatch(size_t samples, uint32_t dense_width, uint64_t seed, const Row& row) {
  Batch batch;
  batch.samples = samples;
  batch.slots = kSlots;
  batch.dense_width = dense_width;
  batch.offsets.push_back(0);
  for (size_t i = 0; i < samples; ++i) {
    for (uint64_t slot = 0; slot < kSlots; ++slot) {
      batch.keys.push_back(Mix64(slot << 32 | row(i, slot)));
      batch.offsets.push_back(static_cast<uint32_t>(batch.keys.size()));
    }
    for (uint32_t d = 0; d < dense_width; ++d) {
      batch.dense.push_back(static_cast<float>(Mix64(seed + i * 64 + d) >> 40) * 0x1p-24F);
    }
    batch.labels.push_back(static_cast<float>(Mix64(seed ^ i) % 4 == 0));
    batch.weights.push_back(1.0F);
  }
  return batch;
}

// Zipf's law with exponent 1.
uint64_t DrawRow(uint64_t n) {
  const double u = static_cast<double>(Mix64(n) >> 11) * 0x1p-53;
  return std::min(kRows - 1, static_cast<uint64_t>(std::pow(static_cast<double>(kRows), u)) - 1);
}

// Multiplications of a sample's step, both ways, twice each, as additions count too.
double FlopsOf(const LayerGraph& graph) {
  double all = 0;
  for (const GraphLayer& layer : graph.layers()) {
    if (layer.inputs.empty()) continue;
    const bool has_input_gradient = layer.inputs[0] != LayerGraph::kDense;
    const auto products =
        static_cast<double>(layer.parameters.weights.count + layer.parameters.second_weights.count);
    all += 2 * products * (has_input_gradient ? 3 : 2);
  }
  return all;
}

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
    STRATA_TRY(training_.Begin({}));
    Status brought;
    STRATA_ASSIGN(std::jthread bring,
                  StartThread("bring", [&] { brought = training_.Bring(next); }));
    logits_.resize(samples_);
    STRATA_ASSIGN(const double loss, training_.Finish(logits_));
    if (!std::isfinite(loss)) return Failed("the loss is no number");
    samples_ = next.samples;
    STRATA_TRY(training_.Update(++step_));
    bring.join();
    return brought;
  }
  Status First(const Batch& batch) {
    samples_ = batch.samples;
    return training_.Bring(batch);
  }

 private:
  GpuTraining& training_;
  size_t samples_ = 0;
  uint64_t step_ = 0;
  std::vector<float> logits_;
};

}  // namespace

Result<std::vector<Figure>> RunCtr(const CtrCase& of) {
  ModelShape shape{*ModelKindOf(of.model), of.dim, {}, kSlots, 13};
  if (shape.kind == ModelKind::kDeepFm) {
    shape.hidden = {400, 400, 400};
  } else {
    shape.hidden = {1024, 1024, 512, 256};
    shape.bottom = {512, 256, of.dim};
  }
  if (shape.kind == ModelKind::kDcnV2) {
    shape.cross_layers = 3;
    shape.cross_rank = 512;
  }
  STRATA_TRY(ValidateModelShape(shape));
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
                                                        .table = kTable}));
  std::vector<float> parameters(graph.parameters());
  std::vector<float> state(StateWidth(dense, parameters.size()));
  InitializeParameters(graph, 1, parameters);
  InitialState(dense, state);
  STRATA_TRY(training->SetDense(parameters, state));

  std::vector<Batch> batches;
  for (uint64_t b = 0; b < kBatches; ++b) {
    batches.push_back(MakeBatch(of.batch, 13, b, [&](size_t i, uint64_t slot) {
      return DrawRow((b * of.batch + i) * kSlots + slot);
    }));
  }
  Steps steps(*training);
  constexpr uint64_t kFill = 65'536;
  STRATA_TRY(steps.First(batches[0]));
  for (uint64_t first = 0; first < kRows; first += kFill) {
    STRATA_TRY(steps.Run(MakeBatch(
        kFill, 13, first, [&](size_t i, uint64_t) { return std::min(first + i, kRows - 1); })));
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
