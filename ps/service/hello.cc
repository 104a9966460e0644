// HELLO: who the server is and where its lanes listen.
#include <fmt/format.h>

#include "ps/service/handlers.h"

namespace strata {

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

}  // namespace strata
