#include "worker/tasks/model_settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

namespace strata {
namespace {

struct Held {
  const char* key;
  std::string given;  // by the job, or by default
  std::string held;   // by the model
};

// What a model of this kind holds. Rows of a logistic regression always begin at 0, and it has no
// factors.
std::vector<Held> HeldSettings(const JobConfig& job, const SavedModel& model) {
  const auto text = [](const auto& value) { return fmt::format("{}", value); };
  std::vector<Held> all = {
      {"model.kind", ModelKindName(job.model), ModelKindName(model.shape.kind)},
      {"job.seed", text(job.seed), text(model.seed)},
      {"sparse.value_type", text(ElementTypeName(job.sparse_value_type)),
       text(ElementTypeName(model.value_type))}};
  if (model.shape.tables.empty()) {
    all.push_back(
        {"model.combiner", CombinerName(job.combiner), CombinerName(model.shape.combiner)});
  }
  if (model.shape.kind == ModelKind::kLogistic) return all;
  all.push_back({"model.embedding_dim", text(job.embedding_dim), text(model.shape.embedding_dim)});
  all.push_back({"sparse.initializer", text(InitializerKindName(job.sparse_initializer.kind)),
                 text(InitializerKindName(model.initializer.kind))});
  if (model.initializer.kind != InitializerKind::kZero) {
    all.push_back(
        {"sparse.init_scale", text(job.sparse_initializer.scale), text(model.initializer.scale)});
  }
  const ModelWidths widths = WidthsOf(model.shape.kind);
  if (widths.hidden) all.push_back({"model.hidden", text(job.hidden), text(model.shape.hidden)});
  if (widths.bottom) all.push_back({"model.bottom", text(job.bottom), text(model.shape.bottom)});
  if (widths.cross_layers) {
    all.push_back({"model.cross_layers", text(job.cross_layers), text(model.shape.cross_layers)});
  }
  if (widths.cross_rank) {
    all.push_back({"model.cross_rank", text(job.cross_rank), text(model.shape.cross_rank)});
  }
  return all;
}

std::string TextOf(const GraphTable& table) {
  return fmt::format("'{}' of {} slots, dim {} and combiner {}", table.name, table.slots, table.dim,
                     CombinerName(table.combiner));
}
std::string TextOf(const LayerSpec& layer) {
  return fmt::format("'{}' of type {}, inputs {}, width {} and activation {}", layer.name,
                     LayerKindName(layer.kind), layer.inputs, layer.width,
                     ActivationName(layer.activation));
}

// kInvalid names the first of the job's sections that the model has otherwise.
template <typename Section>
Status CheckSame(const char* name, const std::vector<Section>& job_has,
                 const std::vector<Section>& model_has, const JobConfig& job,
                 const std::string& folder) {
  const auto [mine, its] = std::ranges::mismatch(job_has, model_has);
  const bool is_in_job = mine != job_has.end();
  const bool is_in_model = its != model_has.end();
  if (!is_in_job && !is_in_model) return {};
  return Invalid(fmt::format(
      "{}: {} {} of the job is {}, and that of the model in {} is {}: give the [[{}]]s that it was "
      "trained with, or name another model (output.model)",
      is_in_job && !mine->place.empty() ? mine->place : job.file, name, mine - job_has.begin() + 1,
      is_in_job ? TextOf(*mine) : "missing", folder, is_in_model ? TextOf(*its) : "missing", name));
}

}  // namespace

Status CheckModelSettings(const JobConfig& job, const SavedModel& model,
                          const std::string& folder) {
  if (job.loss != model.shape.loss) {  // by default, too: the job says what its labels are
    return Invalid(fmt::format(
        "{}: model.loss = \"{}\", but the model in {} was trained with \"{}\": give the model's "
        "loss, or name another model (output.model)",
        job.file, LossKindName(job.loss), folder, LossKindName(model.shape.loss)));
  }
  for (const Held& setting : HeldSettings(job, model)) {
    const auto origin = job.origins.find(setting.key);
    if (origin == job.origins.end() || setting.given == setting.held) continue;
    return Invalid(fmt::format(
        "{}: {} = {}, but the model in {} was trained with {}: remove the setting or give the "
        "model's value, or name another model (output.model)",
        origin->second, setting.key, setting.given, folder, setting.held));
  }
  if (!job.tables.empty())
    STRATA_TRY(CheckSame("table", job.tables, model.shape.tables, job, folder));
  if (!job.layers.empty())
    STRATA_TRY(CheckSame("layer", job.layers, model.shape.layers, job, folder));
  return {};
}

}  // namespace strata
