// Ranks that train one model must want the same one.
#pragma once

#include "cluster/collective/group.h"
#include "strata/status.h"
#include "worker/gbdt/data/tree_dataset.h"
#include "worker/gbdt/parameters/tree_parameters.h"

namespace strata {

// Seeds become the smallest of all ranks' (so does LightGBM). kInvalid: another parameter differs,
// those excepted that may (paths, threads, ports); names it and both values. Collective.
Status AgreeOnParameters(Group& group, TreeParameters* parameters);

// kInvalid: ranks that should all have the same rows do not: names what differs. Collective.
Status AgreeOnRows(Group& group, const TreeDataset& data);

}  // namespace strata
