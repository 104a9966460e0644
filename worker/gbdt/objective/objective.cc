#include "worker/gbdt/objective/objective.h"

#include "worker/gbdt/objective/factories.h"

namespace strata {

Result<std::unique_ptr<TreeObjective>> MakeObjective(const TreeParameters& parameters,
                                                     const TreeDataset& data) {
  if (parameters.objective.starts_with("multiclass")) {
    return MakeMulticlassObjective(parameters, data);
  }
  if (parameters.objective == "lambdarank" || parameters.objective == "rank_xendcg") {
    return MakeRankingObjective(parameters, data);
  }
  if (parameters.objective == "cross_entropy_lambda") {
    return MakeCrossEntropyLambda(parameters, data);
  }
  return MakePointwiseObjective(parameters, data);
}

}  // namespace strata
