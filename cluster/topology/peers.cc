#include "cluster/topology/peers.h"

#include <set>

namespace strata {

std::vector<int> NeededPeers(int world, int rank, HalvingForm form) {
  std::set<int> peers;
  for (const BruckStep& step : MakeBruckMap(world, rank).steps) peers.insert({step.in, step.out});
  const HalvingMap halving = MakeHalvingMap(world, rank, form);
  for (const HalvingRound& round : halving.rounds) peers.insert(round.peer);
  if (halving.neighbour >= 0) peers.insert(halving.neighbour);
  return {peers.begin(), peers.end()};
}

}  // namespace strata
