#include "worker/tasks/print_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "base/human_text.h"
#include "base/log.h"
#include "base/print.h"
#include "cluster/collective/single_group.h"
#include "kernels/optim/apply.h"
#include "worker/job/layer_settings.h"
#include "worker/job/table_settings.h"
#include "worker/tasks/job_data.h"

namespace strata {
namespace {

Result<ModelShape> ShapeOf(Disk& disk, const JobConfig& job) {
  if (!job.data.sparse.has_value()) return JobModelShape(job, job.data.features);
  SingleGroup alone;
  STRATA_ASSIGN(const JobFeatures fitted, FitJobFeatures(disk, job, alone));
  return JobModelShape(job, SpecsOf(fitted.features));
}

// What a step of all samples in one worker keeps of the network, on the CPU.
struct Memory {
  uint64_t values = 0;      // bytes, with their gradients
  uint64_t parameters = 0;  // with their gradients and the optimizer's state
};

Memory MemoryOf(const JobConfig& job, const LayerGraph& graph) {
  uint64_t elements = 0;
  for (uint32_t value = 0; value < graph.values().size(); ++value) {
    if (graph.values()[value].root == value) elements += graph.values()[value].width;
  }
  const uint64_t state = StateWidth(job.dense_optimizer, graph.learned_parameters());
  return {.values = 2 * elements * job.batch_size * sizeof(float),
          .parameters = (2 * graph.parameters() + state) * sizeof(float)};
}

std::string ToJson(const JobConfig& job, const LayerGraph& graph) {
  nlohmann::json layers = nlohmann::json::array();
  for (const GraphLayer& layer : graph.layers()) {
    layers.push_back({{"name", layer.spec.name},
                      {"type", LayerKindName(layer.spec.kind)},
                      {"inputs", layer.spec.inputs},
                      {"width", graph.values()[layer.output].width},
                      {"parameters", layer.parameters.count()}});
  }
  nlohmann::json tables = nlohmann::json::array();
  for (const GraphTable& table : graph.spec().tables) {
    tables.push_back({{"name", table.name},
                      {"slots", table.slots},
                      {"dim", table.dim},
                      {"combiner", CombinerName(table.combiner)},
                      {"row_dim", graph.row_dim(tables.size())}});
  }
  const Memory memory = MemoryOf(job, graph);
  const nlohmann::json object = {{"model", ModelKindName(job.model)},
                                 {"slots", graph.slots()},
                                 {"tables", tables},
                                 {"dense_width", graph.spec().dense_width},
                                 {"parameters", graph.parameters()},
                                 {"value_bytes", memory.values},
                                 {"parameter_bytes", memory.parameters},
                                 {"layers", layers}};
  return object.dump() + "\n";
}

std::string ForPeople(const JobConfig& job, const LayerGraph& graph) {
  const Memory memory = MemoryOf(job, graph);
  return fmt::format(
      "{}A step of {} samples in one worker holds {} of values and their gradients; parameters "
      "with gradients and state take {}.\n\nThe same network in a job file:\n\n{}",
      graph.ToText(), job.batch_size, HumanBytes(memory.values), HumanBytes(memory.parameters),
      GraphSections(job, graph));
}

}  // namespace

std::string GraphSections(const JobConfig& job, const LayerGraph& graph) {
  std::string text = "[model]\nkind = \"layers\"\n";
  if (job.embedding_dim > 0) text += fmt::format("embedding_dim = {}\n", job.embedding_dim);
  if (job.combiner != Combiner::kSum) {
    text += fmt::format("combiner = \"{}\"\n", CombinerName(job.combiner));
  }
  if (job.loss != LossKind::kLogloss) {
    text += fmt::format("loss = \"{}\"\n", LossKindName(job.loss));
  }
  const bool drops = std::ranges::any_of(graph.spec().layers, &LayerSpec::is_hidden);
  if (job.dropout > 0 && drops) text += fmt::format("dropout = {}\n", job.dropout);
  if (job.l2 > 0) text += fmt::format("l2 = {}\n", job.l2);
  return text + "\n" + TablesToToml(job) + LayersToToml(graph.spec().layers);
}

Status PrintGraph(Disk& disk, const WorkerOptions& options) {
  const JobConfig& job = options.job;
  STRATA_ASSIGN(const ModelShape shape, ShapeOf(disk, job));
  const LayerGraph graph = GraphOf(shape);
  for (const std::string& warning : UnusedFeatures(graph)) Log(LogLevel::kWarning, "{}", warning);
  return WriteStdout(options.json ? ToJson(job, graph) : ForPeople(job, graph));
}

}  // namespace strata
