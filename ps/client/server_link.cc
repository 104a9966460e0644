#include "ps/client/server_link.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/human_text.h"

namespace strata::client {

std::string ServerLink::MainEndpoint() const {
  return InThisProcess() ? address + "/0" : "tcp://" + address;
}

std::string ServerLink::LaneEndpoint(uint16_t lane) const {
  if (InThisProcess()) return fmt::format("{}/{}", address, lane);
  return fmt::format("tcp://{}:{}", address.substr(0, address.rfind(':')), hello.lane_ports[lane]);
}

uint16_t ServerLink::version() const { return std::min(hello.version_max, wire::kVersion); }

std::string ServerLink::Name() const { return fmt::format("server {} ({})", index, address); }

Status ServerLink::CheckHello(const wire::HelloReply& reply, size_t servers) const {
  if (reply.server != index || reply.servers != servers) {
    return Invalid(fmt::format(
        "{} says that it is server {} of {}, but here it is server {} of {}; all nodes need the "
        "same machine list",
        Name(), reply.server, reply.servers, index, servers));
  }
  if (reply.version_max < wire::kVersionMin || reply.version_min > wire::kVersion) {
    return Refused(fmt::format(
        "{} speaks protocol versions {} to {}, here they are {} to {}; "
        "install matching versions of Strata",
        Name(), reply.version_min, reply.version_max, wire::kVersionMin, wire::kVersion));
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
                      "a cluster of {}",
                      Name(), lane.lane, lane.server, Counted(servers, "server")));
    }
  }
  if (std::find(lanes.begin(), lanes.end(), 0) != lanes.end() ||
      lanes[index] != hello.lane_ports.size()) {
    return Invalid(fmt::format("{}: its shard map gives it {}, but it has {}", Name(),
                               Counted(lanes[index], "lane"), hello.lane_ports.size()));
  }
  return {};
}

Status ServerLink::AnotherLineage(const wire::ShardMap& cluster) const {
  return Lost(fmt::format(
      "{} restarted without its memory: what it held of shards {} is gone, with {} of this client; "
      "start the job anew, or from a checkpoint",
      Name(), ShardRanges(cluster, index),
      writes_acknowledged == 0 ? "no acknowledged write"
                               : Counted(writes_acknowledged, "acknowledged write")));
}

Status ServerLink::AnotherBoot(const wire::ShardMap& cluster) const {
  return Lost(fmt::format(
      "{} restarted with what its log held: of shards {}, {} of this client at level 'applied' may "
      "be gone; start the job again, from a checkpoint; with level 'logged' or above it would go "
      "on",
      Name(), ShardRanges(cluster, index), Counted(unlogged_acknowledged, "acknowledged write")));
}

Status ServerLink::AnotherCopy(const wire::ShardMap& cluster, uint32_t nonce) const {
  return Lost(fmt::format(
      "{} serves another copy of its data folder: the same boot has drawn {:#010x} there and "
      "{:#010x} here; of shards {}, any of {} of this client may be gone; start the job again, "
      "from a checkpoint",
      Name(), nonce, boot_nonce, ShardRanges(cluster, index),
      Counted(writes_acknowledged, "acknowledged write")));
}

Status ServerLink::Silent(const wire::ShardMap& cluster, TimeNs silence,
                          std::string_view allowed) const {
  std::string risk;
  if (unlogged_acknowledged > 0) {
    risk = fmt::format("; if it has ended, {} at level 'applied' may be gone",
                       Counted(unlogged_acknowledged, "acknowledged write"));
  } else if (writes_acknowledged > 0) {
    risk = fmt::format("; if it has ended, only its data folder can bring back {}",
                       Counted(writes_acknowledged, "acknowledged write"));
  }
  return Lost(fmt::format(
      "{} has been silent for {:.1f} s{}: shards {}; see whether it still runs and can "
      "be reached{}",
      Name(), static_cast<double>(silence) / kSecond, allowed, ShardRanges(cluster, index), risk));
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
