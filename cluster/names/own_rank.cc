#include "cluster/names/own_rank.h"

#include <algorithm>

#include "cluster/names/resolve.h"
#include "cluster/topology/rank.h"

namespace strata {

Result<int> DetectOwnRank(const MachineList& list, Role role, std::optional<int> rank,
                          std::optional<uint16_t> port, TimeNs timeout) {
  RankClues clues;
  clues.rank = rank;
  clues.port = port;
  if (!rank) {
    STRATA_ASSIGN(clues.local_addresses, LocalAddresses());
    const TimeNs deadline = RealClock().Now() + timeout;
    for (const Machine& machine : list.Of(role)) {
      // A name that does not resolve cannot be this machine; its own process will say so.
      const TimeNs left = std::max<TimeNs>(deadline - RealClock().Now(), 0);
      auto addresses = ResolveHost(machine.host, left);
      clues.entry_addresses.push_back(addresses.ok() ? std::move(addresses).value()
                                                     : std::vector<std::string>());
    }
  }
  return FindRank(list, role, clues);
}

}  // namespace strata
