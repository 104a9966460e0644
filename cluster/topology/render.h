// Text forms of the maps, for strata-admin topology and for the golden tables. Whoever wants JSON
// walks BruckMap and HalvingMap: they are plain data.
#pragma once

#include <string>

#include "cluster/topology/bruck.h"
#include "cluster/topology/halving.h"

namespace strata {

// "r0 1/4 2/3 4/1": in/out of each step.
std::string BruckLine(const BruckMap& map);
// "r3 L(4) 1:0+2/2+3 2:2+1/3+2": node type (N, L(neighbour), O(neighbour)), then for each round the
// peer, the blocks sent and the blocks received as start+count.
std::string HalvingLine(const HalvingMap& map);

// A heading and a line for each rank of a world of `world`, each ended by a newline.
std::string BruckTable(int world);
std::string HalvingTable(int world, HalvingForm form);

}  // namespace strata
