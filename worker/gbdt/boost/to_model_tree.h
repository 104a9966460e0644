// A grown tree, over bins, as a model's tree, over features' own values.
#pragma once

#include "kernels/tree/gradient/fixed_point.h"
#include "kernels/tree/grow/grown_tree.h"
#include "worker/gbdt/data/tree_dataset.h"
#include "worker/gbdt/model/tree.h"

namespace strata {

// Outputs are those of the grower: not shrunk yet. `units`: of the gradients it was grown with.
// Models have the whole gain of a split: growers have it less `min_gain_to_split`.
Tree ToModelTree(const GrownTree& grown, const FeatureBinning& features, const GradientUnits& units,
                 double min_gain_to_split);

}  // namespace strata
