#include "worker/gbdt/objective/objective.h"

#include "worker/gbdt/objective/factories.h"

namespace strata {

Result<std::unique_ptr<TreeObjective>> MakeObjective(const ObjectiveParameters& parameters,
                                                     const TreeDataset& data) {
  if (parameters.name.starts_with("multiclass")) {
    return MakeMulticlassObjective(parameters, data);
  }
  if (parameters.name == "lambdarank" || parameters.name == "rank_xendcg") {
    return MakeRankingObjective(parameters, data);
  }
  if (parameters.name == "cross_entropy_lambda") {
    return MakeCrossEntropyLambda(parameters, data);
  }
  return MakePointwiseObjective(parameters, data);
}

}  // namespace strata
