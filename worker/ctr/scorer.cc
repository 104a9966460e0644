#include "worker/ctr/scorer.h"

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <utility>

#include "worker/ctr/agree.h"
#include "worker/ctr/divergence.h"

namespace strata {

Scorer::Scorer(Network& network, std::span<const float> dense, TableStore& store,
               std::vector<TableId> tables)
    : network_(network), dense_(dense), store_(store), tables_(std::move(tables)) {
  STRATA_CHECK(tables_.size() == network.graph().spec().tables.size());
}

Status Scorer::Read(BatchSource& source, std::shared_ptr<Part>* part) {
  if (*part == nullptr || part->use_count() > 1) *part = std::make_shared<Part>();
  Part& fresh = **part;
  STRATA_TRY(source.Next(Network::kScoreBatch, &fresh.batch));
  const LayerGraph& graph = network_.graph();
  finder_.Find(fresh.batch, graph.table_slots(), &fresh.unique);
  fresh.rows.resize(RowElements(graph, fresh.unique));
  if (fresh.unique.keys.empty()) return {};
  Operation lookup{.kind = OpKind::kLookup, .parts = {}, .exec = {}, .sync = {}};
  for (size_t table = 0; table < tables_.size(); ++table) {
    lookup.parts.push_back(
        {.table = tables_[table],
         .keys = fresh.unique.of_table(table),
         .out = RowsOfTable(graph, fresh.unique, table, std::span<float>(fresh.rows)),
         .in_key_order = true});
  }
  lookup_.Submit(store_, std::move(lookup), *part);
  return {};
}

Status Scorer::Score(BatchSource& source, const Use& use) {
  STRATA_TRY(source.Rewind(0));
  std::shared_ptr<Part> part;
  std::shared_ptr<Part> next;
  std::vector<float> logits;
  STRATA_TRY(Read(source, &part));
  while (part->batch.samples > 0) {
    STRATA_TRY(lookup_.Wait());
    STRATA_TRY(Read(source, &next));
    logits.resize(part->batch.samples);
    STRATA_TRY(network_.Score({part->batch, part->unique, part->rows, dense_}, logits));
    STRATA_TRY(use(part->batch, logits));
    std::swap(part, next);
  }
  return {};
}

Result<Metrics> Scorer::Evaluate(BatchSource& source, Group& group,
                                 const std::function<Status(size_t samples)>& on_batch,
                                 bool in_groups) {
  std::vector<ScoredSample> scored;
  std::vector<uint64_t> groups;
  const auto use = [&](const Batch& batch, std::span<const float> logits) -> Status {
    for (size_t i = 0; i < batch.samples; ++i) {
      if (!std::isfinite(logits[i])) {
        const std::string cause = FirstCause({.graph = network_.graph(),
                                              .batch = batch,
                                              .parameters = dense_,
                                              .logits = logits,
                                              .place = network_.FirstNotFinite()},
                                             {});
        return Failed(fmt::format("evaluation: the model's answer is no number: {}", cause));
      }
      scored.push_back({logits[i], batch.labels[i], batch.weights[i]});
    }
    if (in_groups) groups.insert(groups.end(), batch.groups.begin(), batch.groups.end());
    return on_batch(batch.samples);
  };
  STRATA_TRY(AgreeOnStatus(group, Score(source, use)));
  STRATA_ASSIGN(Metrics metrics, ComputeMetrics(group, scored, in_groups ? &groups : nullptr,
                                                network_.graph().spec().loss));
  STRATA_ASSIGN(metrics.bad_rows, SumOverRanks(group, source.bad_rows()));
  return metrics;
}

}  // namespace strata
