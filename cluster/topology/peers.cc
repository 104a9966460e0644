#include "cluster/topology/peers.h"

#include <set>

namespace strata {

std::vector<int> CirculantPeers(int world, int rank) {
  std::set<int> peers;
  for (int distance = 1; distance < world; distance *= 2) {
    peers.insert({(rank + distance) % world, (rank - distance + world) % world});
  }
  return {peers.begin(), peers.end()};
}

}  // namespace strata
