// The families of objectives, for MakeObjective.
#pragma once

#include <memory>

#include "worker/gbdt/objective/objective.h"

namespace strata {

// Regression losses, binary and cross entropy: a row's gradient depends on that row alone.
Result<std::unique_ptr<TreeObjective>> MakePointwiseObjective(const ObjectiveParameters& parameters,
                                                              const TreeDataset& data);
// multiclass (softmax) and multiclassova.
Result<std::unique_ptr<TreeObjective>> MakeMulticlassObjective(
    const ObjectiveParameters& parameters, const TreeDataset& data);
// lambdarank and rank_xendcg.
Result<std::unique_ptr<TreeObjective>> MakeRankingObjective(const ObjectiveParameters& parameters,
                                                            const TreeDataset& data);

// cross_entropy_lambda. kInvalid: labels outside of 0 to 1, weights that are not above 0.
Result<std::unique_ptr<TreeObjective>> MakeCrossEntropyLambda(const ObjectiveParameters& parameters,
                                                              const TreeDataset& data);

}  // namespace strata
