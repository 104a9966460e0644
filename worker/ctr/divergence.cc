#include "worker/ctr/divergence.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "worker/ctr/agree.h"

namespace strata {
namespace {

constexpr double kFarFromBaseRate = 1.5;  // times the logloss of the share of positives

// The place of the first number that is not finite.
std::optional<size_t> FindNotFinite(std::span<const float> numbers) {
  const auto found =
      std::ranges::find_if_not(numbers, [](float number) { return std::isfinite(number); });
  if (found == numbers.end()) return std::nullopt;
  return static_cast<size_t>(found - numbers.begin());
}

// A NaN has a sign, which says nothing.
std::string NumberText(double number) {
  return std::isnan(number) ? "nan" : fmt::format("{}", number);
}

// "'age'", or "3" where it has no name.
std::string NameOf(const std::vector<std::string>& names, size_t number) {
  return number < names.size() ? fmt::format("'{}'", names[number]) : fmt::format("{}", number);
}

std::string CauseInData(const Batch& batch, const InputNames& names) {
  if (const auto at = FindNotFinite(batch.dense)) {
    return fmt::format("dense feature {} of sample {} of the batch is {}: correct the data",
                       NameOf(names.dense, *at % batch.dense_width), *at / batch.dense_width,
                       NumberText(batch.dense[*at]));
  }
  if (const auto at = FindNotFinite(batch.weights)) {
    return fmt::format("the weight of sample {} of the batch is {}: correct the data", *at,
                       NumberText(batch.weights[*at]));
  }
  if (const auto at = FindNotFinite(batch.key_weights)) {
    return fmt::format("the value of key {} of the batch is {}: correct the data", batch.keys[*at],
                       NumberText(batch.key_weights[*at]));
  }
  return "";
}

constexpr char kCalmRows[] =
    "use a smaller sparse.learning_rate, or sparse.clip_norm or sparse.clip_value";
constexpr char kCalmDense[] =
    "use a smaller dense.learning_rate, or dense.clip_norm or dense.clip_value";

// A slot of this table where the batch has this row.
size_t SlotOf(const FailedPass& pass, size_t table, size_t row) {
  const size_t first = pass.graph.table_places()[table].first_slot;
  const size_t last = first + pass.graph.table_slots()[table];
  const Batch& batch = pass.batch;
  for (size_t bag = 0; bag < batch.samples * batch.slots; ++bag) {
    const size_t slot = bag % batch.slots;
    if (slot < first || slot >= last) continue;
    for (uint32_t key = batch.offsets[bag]; key < batch.offsets[bag + 1]; ++key) {
      if (pass.unique->index[key] == row) return slot;
    }
  }
  return first;
}

std::string CauseInRows(const FailedPass& pass, const InputNames& names) {
  if (pass.unique == nullptr) return "";
  for (size_t table = 0; table < pass.graph.spec().tables.size(); ++table) {
    const std::span<const float> rows = RowsOfTable(pass.graph, *pass.unique, table, pass.rows);
    const auto at = FindNotFinite(rows);
    if (!at.has_value()) continue;
    const size_t row = *at / pass.graph.row_dim(table);
    return fmt::format(
        "the embedding row of key {} of slot {} has {} at place {}, from an earlier step: the "
        "model "
        "diverged; {}",
        pass.unique->of_table(table)[row], NameOf(names.slots, SlotOf(pass, table, row)),
        NumberText(rows[*at]), *at % pass.graph.row_dim(table), kCalmRows);
  }
  return "";
}

// The slot whose vector has this column of the embeddings.
size_t SlotOfColumn(const LayerGraph& graph, size_t column) {
  size_t table = graph.spec().tables.size() - 1;
  while (graph.table_places()[table].column > column) --table;
  const TablePlace& place = graph.table_places()[table];
  return place.first_slot + (column - place.column) / graph.spec().tables[table].dim;
}

std::string CauseInParameters(const FailedPass& pass, const GraphLayer& layer) {
  const LayerParameters& own = layer.parameters;
  const std::pair<const char*, const ParameterRange*> all[] = {{"weight", &own.weights},
                                                               {"weight", &own.second_weights},
                                                               {"scale", &own.scales},
                                                               {"bias", &own.biases}};
  for (const auto& [what, range] : all) {
    const auto at = FindNotFinite(pass.parameters.subspan(range->at, range->count));
    if (!at.has_value()) continue;
    return fmt::format(
        "{} {} of layer '{}' ({}) is {}, from an earlier step: the model diverged; {}", what, *at,
        layer.spec.name, LayerKindName(layer.spec.kind),
        NumberText(pass.parameters[range->at + *at]), kCalmDense);
  }
  return "";
}

std::string CauseInLayers(const FailedPass& pass, const InputNames& names) {
  const auto is_place = [&](uint32_t value) {
    return pass.place.has_value() && pass.place->value == value;
  };
  if (is_place(LayerGraph::kEmbeddings)) {
    return fmt::format(
        "the embedding of slot {} of sample {} of the batch is not finite: the model diverged; {}",
        NameOf(names.slots, SlotOfColumn(pass.graph, pass.place->column)), pass.place->sample,
        kCalmRows);
  }
  for (const GraphLayer& layer : pass.graph.layers()) {
    if (std::string cause = CauseInParameters(pass, layer); !cause.empty()) return cause;
    if (!is_place(layer.output)) continue;
    return fmt::format(
        "what layer '{}' ({}) gives is not finite, the first at sample {} of the batch, while all "
        "that it takes is: numbers grew too large, the model diverged; {}, and the same of "
        "[sparse]; numeric features of large values want the transforms log or standardise",
        layer.spec.name, LayerKindName(layer.spec.kind), pass.place->sample, kCalmDense);
  }
  return "";
}

std::string CauseInLoss(const FailedPass& pass) {
  double largest = 0;
  for (const float logit : pass.logits) largest = std::max(largest, std::abs(double{logit}));
  if (largest < 1e30) return "";
  return fmt::format(
      "logits are finite but as large as {:.3g}, and the sum of their losses is not: the model "
      "diverged; {}, and the same of [sparse]",
      largest, kCalmDense);
}

}  // namespace

std::string FirstCause(const FailedPass& pass, const InputNames& names) {
  std::string cause = CauseInData(pass.batch, names);
  if (cause.empty()) cause = CauseInRows(pass, names);
  if (cause.empty()) cause = CauseInLayers(pass, names);
  if (cause.empty()) cause = CauseInLoss(pass);
  return cause;
}

Status Diverged(uint64_t step, double loss, const std::string& mine, Group* group) {
  Status cause = mine.empty() ? Status::Ok() : Failed(mine);
  if (group != nullptr) cause = AgreeOnStatus(*group, cause);
  if (!cause.ok() && cause.code() != StatusCode::kFailed) return cause;  // the group's own
  return Failed(fmt::format("step {}: the loss is {}: {}", step, NumberText(loss),
                            cause.ok() ? fmt::format("the model diverged; {}, and the same of "
                                                     "[sparse]",
                                                     kCalmDense)
                                       : cause.message()));
}

std::string FarFromBaseRate(const Metrics& metrics, const std::string& what) {
  if (metrics.base_mse > 0 && metrics.mse > kFarFromBaseRate * metrics.base_mse) {
    return fmt::format(
        "{} has an MSE of {:.4g}, far above {:.4g}, that of always predicting the labels' mean: "
        "training diverged, or was too short to learn; for the former use smaller learning rates "
        "or clip_norm of [sparse] and [dense]",
        what, metrics.mse, metrics.base_mse);
  }
  // Labels of one class have a base of 0, of which every model is far.
  const bool is_far = metrics.base_logloss > 0 &&
                      metrics.logloss > kFarFromBaseRate * metrics.base_logloss;  // not of NaN
  if (!is_far) return "";
  return fmt::format(
      "{} has logloss {:.4g}, far above {:.4g}, that of always predicting the share of positives: "
      "training diverged, or was too short to learn; for the former use smaller learning rates or "
      "clip_norm of [sparse] and [dense]",
      what, metrics.logloss, metrics.base_logloss);
}

}  // namespace strata
