// Those who come to the ports of a group and do not belong to it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/random.h"
#include "cluster/link/connect/listener.h"
#include "cluster/link/links.h"

namespace strata::soak {

// Who comes. Impostors know the protocol, and are processes of their own.
enum class Stranger : uint8_t {
  kGarbage,
  kOldVersion,
  kWrongSecret,
  kWrongJob,
  kWrongWorld,
  kTakenRank,  // knows the secret: a second process of one rank; only once the group works
};
constexpr Stranger kStrangers[] = {Stranger::kGarbage,     Stranger::kOldVersion,
                                   Stranger::kWrongSecret, Stranger::kWrongJob,
                                   Stranger::kWrongWorld,  Stranger::kTakenRank};
const char* StrangerName(Stranger stranger);

// Sends what `stranger` sends and waits for what it gets. `options` are those of the rank that an
// impostor says it is, not rank 0. Empty, or what should not have happened. One thread: it forks.
std::string Visit(Stranger stranger, LinkOptions options, Random* random);

// `count` connections to a port that never say anything, as long as the vector lives.
std::vector<OwnedFd> HalfOpenConnections(uint16_t port, int count);

}  // namespace strata::soak
