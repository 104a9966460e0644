// Trains a click model on made-up data, and writes down all that another program needs to train the
// same one: initial rows and parameters, the graph, the batches, and the loss of each step.
// tests/peers/torch_losses.py is that other program.
//
// usage: ctr_losses MODEL FOLDER DEVICE STEPS, where DEVICE is cpu, or the precision on a GPU:
// fp32, tf32, bf16
#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/file/text_file.h"
#include "base/hash.h"
#include "base/print.h"
#include "base/random.h"
#include "cluster/collective/single_group.h"
#include "storage/memory/host_store.h"
#include "worker/ctr/trainer.h"
#include "worker/model/model_shape.h"
#include "worker/model/network.h"

namespace strata {
namespace {

constexpr uint32_t kSlots = 26;
constexpr uint32_t kDenseWidth = 13;
constexpr uint64_t kRowsOfSlot = 1000;
constexpr uint32_t kBatch = 512;
// Sums that begin at 0 would make first steps the signs of gradients, and rounding large.
constexpr OptimizerSpec kRule{
    .kind = OptimizerKind::kAdaGrad, .learning_rate = 0.02F, .initial_accumulator = 0.1F};

ModelShape ShapeOf(ModelKind kind) {
  ModelShape shape{kind, 16, {64, 32}, kSlots, kDenseWidth};
  const ModelWidths has = WidthsOf(kind);
  if (!has.embedding_dim) shape.embedding_dim = 0;
  if (!has.hidden) shape.hidden.clear();
  if (has.bottom) shape.bottom = {32, 16};
  if (has.cross_layers) shape.cross_layers = 2;
  if (has.cross_rank) shape.cross_rank = 24;
  return shape;
}

// Batch n of the data: keys by a power law, labels by a model that has pairs.
Batch BatchOf(uint64_t n) {
  Random random(1000 + n);
  const auto effect = [](uint64_t a, uint64_t b) {
    return static_cast<double>(Mix64(a * 100'000 + b) % 2001) / 1000 - 1;
  };
  Batch batch;
  batch.samples = kBatch;
  batch.slots = kSlots;
  batch.dense_width = kDenseWidth;
  batch.offsets = {0};
  for (size_t i = 0; i < kBatch; ++i) {
    double logit = -1;
    const size_t first = batch.keys.size();
    for (uint64_t s = 0; s < kSlots; ++s) {
      const double drawn = std::exp(random.Uniform() * std::log(double{kRowsOfSlot}));
      batch.keys.push_back(s * kRowsOfSlot + static_cast<uint64_t>(drawn) - 1);
      batch.offsets.push_back(static_cast<uint32_t>(batch.keys.size()));
      if (s < 8) logit += 0.6 * effect(batch.keys.back(), 7);
    }
    for (size_t s = 0; s < 4; ++s) {
      logit += effect(batch.keys[first + s], batch.keys[first + s + 4]);
    }
    for (uint32_t d = 0; d < kDenseWidth; ++d) {
      batch.dense.push_back(static_cast<float>(random.Uniform() * 2 - 1));
      logit += 0.3 * batch.dense.back();
    }
    batch.labels.push_back(random.Uniform() < 1 / (1 + std::exp(-logit)) ? 1.0F : 0.0F);
    batch.weights.push_back(1);
  }
  return batch;
}

class Batches final : public BatchSource {
 public:
  explicit Batches(uint64_t count) : count_(count) {}
  Status Rewind(uint64_t /*epoch*/) override {
    next_ = 0;
    return {};
  }
  Status Next(size_t /*samples_max*/, Batch* batch) override {
    if (next_ < count_) {
      *batch = BatchOf(next_++);
    } else {
      batch->Start(kSlots, kDenseWidth);
    }
    return {};
  }
  double Progress() const override { return 1; }

 private:
  const uint64_t count_;
  uint64_t next_ = 0;
};

template <typename T>
Status Write(const std::string& path, const std::vector<T>& values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return WriteFileAtomically(RealDisk(), path, bytes);
}

nlohmann::json GraphJson(const LayerGraph& graph) {
  nlohmann::json layers = nlohmann::json::array();
  for (const GraphLayer& layer : graph.layers()) {
    nlohmann::json parameters = nlohmann::json::object();
    const auto add = [&](const char* name, const ParameterRange& range) {
      if (range.count > 0) parameters[name] = {range.at, range.count};
    };
    add("weights", layer.parameters.weights);
    add("second_weights", layer.parameters.second_weights);
    add("scales", layer.parameters.scales);
    add("biases", layer.parameters.biases);
    layers.push_back({{"name", layer.spec.name},
                      {"kind", LayerKindName(layer.spec.kind)},
                      {"inputs", layer.spec.inputs},
                      {"width", layer.spec.width},
                      {"begin", layer.spec.begin},
                      {"activation", ActivationName(layer.spec.activation)},
                      {"vectors", graph.values()[layer.output].vectors},
                      {"parameters", parameters}});
  }
  return {{"slots", kSlots},
          {"rows", kSlots * kRowsOfSlot},
          {"row_dim", graph.row_dim(0)},
          {"has_key_weights", graph.has_key_weights()},
          {"dense_width", kDenseWidth},
          {"batch", kBatch},
          {"learning_rate", kRule.learning_rate},
          {"epsilon", kRule.epsilon},
          {"initial_accumulator", kRule.initial_accumulator},
          {"layers", layers}};
}

Result<std::unique_ptr<Network>> MakeNetwork(const LayerGraph& graph, const std::string& device) {
  if (device == "cpu") return MakeCpuNetwork(graph);
  const GemmPrecision precision = device == "fp32"   ? GemmPrecision::kFp32
                                  : device == "tf32" ? GemmPrecision::kTf32
                                                     : GemmPrecision::kBf16;
  return MakeGpuNetwork(graph, 0, precision, 1);
}

Status WriteStart(const std::string& folder, const LayerGraph& graph, TableStore& store,
                  const TableSpec& table, const Trainer& trainer, uint64_t steps) {
  std::vector<Key> keys(kSlots * kRowsOfSlot);
  for (Key key = 0; key < keys.size(); ++key) keys[key] = key;
  std::vector<float> rows(keys.size() * table.dim);
  Operation lookup{.kind = OpKind::kLookup, .parts = {}, .exec = {}, .sync = {}};
  lookup.parts.push_back({.table = table.id(), .keys = keys, .out = rows});
  STRATA_TRY(SubmitAndWait(store, std::move(lookup)).status);
  STRATA_TRY(Write(folder + "/rows.f32", rows));
  STRATA_TRY(Write(folder + "/parameters.f32", trainer.Dense()));
  std::vector<int32_t> all_keys;
  std::vector<float> dense;
  std::vector<float> labels;
  for (uint64_t n = 0; n < steps; ++n) {
    const Batch batch = BatchOf(n);
    for (const Key key : batch.keys) all_keys.push_back(static_cast<int32_t>(key));
    dense.insert(dense.end(), batch.dense.begin(), batch.dense.end());
    labels.insert(labels.end(), batch.labels.begin(), batch.labels.end());
  }
  STRATA_TRY(Write(folder + "/keys.i32", all_keys));
  STRATA_TRY(Write(folder + "/dense.f32", dense));
  STRATA_TRY(Write(folder + "/labels.f32", labels));
  return WriteFileAtomically(RealDisk(), folder + "/graph.json", GraphJson(graph).dump());
}

Status Run(ModelKind kind, const std::string& folder, const std::string& device, uint64_t steps) {
  const ModelShape shape = ShapeOf(kind);
  STRATA_TRY(ValidateModelShape(shape));
  const LayerGraph graph = GraphOf(shape);
  STRATA_ASSIGN(const std::unique_ptr<Network> network, MakeNetwork(graph, device));
  const auto store = MakeHostStore();
  const TableSpec table{.name = "rows",
                        .dim = graph.row_dim(0),
                        .optimizer = kRule,
                        .initializer = InitializerOf(shape, {InitializerKind::kNormal, 0.05F}),
                        .seed = 1};
  STRATA_TRY(store->CreateTable(table));
  SingleGroup alone;
  Trainer trainer(
      {.seed = 1, .batch_size = kBatch, .dense_optimizer = kRule, .tables = {table.id()}}, *network,
      *store, alone);
  STRATA_TRY(trainer.Start());
  STRATA_TRY(RealDisk().MakeFolder(folder));
  STRATA_TRY(WriteStart(folder, graph, *store, table, trainer, steps));
  Batches source(steps);
  std::vector<double> losses;
  STRATA_TRY(trainer.TrainEpoch(source, 0, [&](const StepReport& report) -> Status {
    losses.push_back(report.loss);
    return {};
  }));
  return Write(folder + "/losses.f64", losses);
}

int Main(int argc, char** argv) {
  constexpr const char* kUsage = "usage: ctr_losses MODEL FOLDER cpu|fp32|tf32|bf16 STEPS\n";
  uint64_t steps = 0;
  const std::optional<ModelKind> kind = argc == 5 ? ModelKindOf(argv[1]) : std::nullopt;
  if (!kind.has_value() ||
      std::from_chars(argv[4], argv[4] + std::strlen(argv[4]), steps).ec != std::errc()) {
    PrintStderr("{}", kUsage);
    return 2;
  }
  const Status status = Run(*kind, argv[2], argv[3], steps);
  if (status.ok()) return 0;
  PrintStderr("ctr_losses: {}\n", status.ToString());
  return ExitCode(status);
}

}  // namespace
}  // namespace strata

int main(int argc, char** argv) { return strata::Main(argc, argv); }
