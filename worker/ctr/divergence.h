// Divergence: what went wrong first in a step whose loss is no finite number. It is looked for only
// then.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cluster/collective/group.h"
#include "strata/status.h"
#include "worker/ctr/metrics.h"
#include "worker/data/batch/batch.h"
#include "worker/model/layer_graph.h"
#include "worker/model/network.h"

namespace strata {

// How messages call a model's inputs; where a name is missing, its number.
struct InputNames {
  std::vector<std::string> dense = {};
  std::vector<std::string> slots = {};
};

// What one rank's part of the step worked on.
struct FailedPass {
  const LayerGraph& graph;
  const Batch& batch;
  const UniqueKeys* unique = nullptr;  // with `rows`; null where rows are not at hand
  std::span<const float> rows = {};
  std::span<const float> parameters;
  std::span<const float> logits;
  std::optional<NotFinitePlace> place;  // Network::FirstNotFinite
};

// The first of these that is no finite number, in words, and what to do: a dense feature or another
// number of the data, a row, and of the layers in their order the parameters or what it gives.
// "" when all are finite.
std::string FirstCause(const FailedPass& pass, const InputNames& names);

// kFailed: the loss of this step is no finite number, and why, as the lowest rank says whose `mine`
// is not empty. Every rank of the group calls it; null: there is no other.
Status Diverged(uint64_t step, double loss, const std::string& mine, Group* group);

// What to say in the end of a model that is far worse than one that always predicts the share of
// positives; "" otherwise. `what` begins the sentence: "the evaluation".
std::string FarFromBaseRate(const Metrics& metrics, const std::string& what);

}  // namespace strata
