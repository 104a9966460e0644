// HELLO, SHARD_MAP, PING, LEAVE and CONTROL are about the server and its client, not about a table.
#include <fmt/format.h>

#include "ps/commands/sessions.h"

namespace strata {
namespace {

constexpr size_t kControlBytesMax = size_t{64} << 10;  // many may wait

}  // namespace

// Who the server is and where its lanes listen.
void HandleHello(LaneState& lane, Request request) {
  const Result<wire::HelloRequest> hello = wire::DecodeHelloRequest(request.payload[0].bytes());
  if (!hello.ok()) return lane.Reply(request.reply_to(), hello.status());
  const wire::HelloReply& mine = lane.config.hello;
  if (hello->version_max < mine.version_min || hello->version_min > mine.version_max) {
    return lane.Reply(request.reply_to(),
                      Refused(fmt::format("'{}' speaks protocol versions {} to {}, this server {} "
                                          "to {}; install matching versions of Strata",
                                          hello->client_name, hello->version_min,
                                          hello->version_max, mine.version_min, mine.version_max)));
  }
  Message reply = {wire::EncodeHelloReply(mine)};
  // Older clients take no second frame.
  if (request.header.is(wire::kFlagFull) && !mine.lane_endpoints.empty()) {
    reply.push_back(wire::EncodeLaneEndpoints(mine.lane_endpoints));
  }
  lane.Reply(request.reply_to(), {}, std::move(reply));
}

// Which lane owns which shard.
void HandleShardMap(LaneState& lane, Request request) {
  lane.Reply(request.reply_to(), {}, {wire::EncodeShardMap(*lane.config.map)});
}

// The lane's thread is alive.
void HandlePing(LaneState& lane, Request request) { lane.Reply(request.reply_to(), {}); }

Status EndSession(LaneState& lane, const ClientId& client) {
  RecordBody body;
  const std::vector<std::byte> name = EncodeExpired(client);
  body.Add(name);
  STRATA_TRY(lane.Append(RecordKind::kExpired, body.pieces()).status());
  lane.dedup.Expire(client);
  return {};
}

// A client's last message. Its place is free for another one, and a late copy of one of its writes
// is refused. Without room for the record it keeps its place until it has been idle.
void HandleLeave(LaneState& lane, Request request) {
  const ClientId client = request.client();
  Status left;
  if (lane.dedup.MayLeave(client)) left = EndSession(lane, client);
  lane.Reply(request.reply_to(), left);
}

// Handed to the server's control thread, which answers.
void HandleControl(LaneState& lane, Request request) {
  const ReplyTo to = request.reply_to();
  const size_t bytes = MessageBytes(request.payload);
  if (bytes > kControlBytesMax) {
    return lane.Reply(to, Invalid(fmt::format("a control request of {} bytes; it may have {}",
                                              bytes, kControlBytesMax)));
  }
  if (lane.config.on_control) return lane.config.on_control(std::move(request));
  lane.Reply(to,
             Refused("this lane takes no control requests; ask lane 0, the server's main port"));
}

}  // namespace strata
