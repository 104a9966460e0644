#include "ps/client/server_link.h"

#include <fmt/format.h>

#include <algorithm>

namespace strata::client {

std::string ServerLink::LaneEndpoint(uint16_t lane) const {
  return fmt::format("tcp://{}:{}", address.substr(0, address.rfind(':')), hello.lane_ports[lane]);
}

std::string ServerLink::Name() const { return fmt::format("server {} ({})", index, address); }

Status ServerLink::CheckHello(const wire::HelloReply& reply, size_t servers) const {
  if (reply.server != index || reply.servers != servers) {
    return Invalid(fmt::format(
        "{} says that it is server {} of {}, but here it is server {} of {}; all nodes need the "
        "same machine list",
        Name(), reply.server, reply.servers, index, servers));
  }
  if (reply.lane_ports.empty()) return Invalid(fmt::format("{} has no lanes", Name()));
  return {};
}

Status ServerLink::CheckMap(const wire::ShardMap& reply, size_t servers) const {
  std::vector<size_t> lanes(servers);
  for (const wire::LaneName& lane : reply.lanes) {
    if (lane.server >= servers || lane.lane != lanes[lane.server]++) {
      return Invalid(
          fmt::format("{}: its shard map names lane {} of server {}, which cannot be in "
                      "a cluster of {} servers",
                      Name(), lane.lane, lane.server, servers));
    }
  }
  if (std::find(lanes.begin(), lanes.end(), 0) != lanes.end() ||
      lanes[index] != hello.lane_ports.size()) {
    return Invalid(fmt::format("{}: its shard map gives it {} lanes, but it has {}", Name(),
                               lanes[index], hello.lane_ports.size()));
  }
  return {};
}

Status ServerLink::Restarted(const wire::ShardMap& cluster, uint64_t writes_gone) const {
  return Lost(fmt::format(
      "{} restarted without its memory: shards {}, {} acknowledged pushes are gone; start the job "
      "anew or from a saved model",
      Name(), ShardRanges(cluster, index), writes_gone));
}

Status ServerLink::Silent(const wire::ShardMap& cluster, TimeNs silence) const {
  return Lost(fmt::format(
      "{} has been silent for {:.1f} s: shards {}, {} acknowledged pushes may be gone; see whether "
      "it still runs and can be reached",
      Name(), static_cast<double>(silence) / kSecond, ShardRanges(cluster, index),
      unlogged_acknowledged));
}

bool SameLineage(uint64_t a, uint64_t b) { return a >> 16 == b >> 16; }

bool LaterBoot(uint64_t a, uint64_t b) {
  return SameLineage(a, b) && static_cast<int16_t>(static_cast<uint16_t>(a - b)) > 0;
}

std::string ShardRanges(const wire::ShardMap& map, uint16_t server) {
  std::string text;
  const auto held = [&](size_t shard) {
    return shard < wire::kShards && map.lanes[map.owner[shard]].server == server;
  };
  for (size_t from = 0; from < wire::kShards; ++from) {
    if (!held(from)) continue;
    size_t last = from;
    while (held(last + 1)) ++last;
    text += fmt::format("{}{}..{}", text.empty() ? "" : ", ", from, last);
    from = last;
  }
  return text.empty() ? "none" : text;
}

}  // namespace strata::client
