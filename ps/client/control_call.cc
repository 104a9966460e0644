#include "ps/client/control_call.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/random.h"
#include "ps/net/zmq_port.h"

namespace strata {
namespace {

Status NoAnswer(const std::string& address, TimeNs timeout) {
  return Lost(
      fmt::format("{} did not answer within {:.1f} s: see whether it runs and can be reached",
                  address, static_cast<double>(timeout) / kSecond));
}

// A question is lost with the connection, when the server dies before it reads it.
constexpr TimeNs kAskAgainAfter = kSecond / 2;

// Sends one request, again and again where that does no harm, and returns the payload of its OK
// reply.
Result<Message> Ask(const std::string& address, uint64_t cluster_id, wire::Command command,
                    Frame body, TimeNs timeout, bool again) {
  const Clock& clock = RealClock();
  const TimeNs deadline = clock.Now() + timeout;
  STRATA_ASSIGN(std::shared_ptr<ZmqContext> context, ZmqContext::Create());
  ZmqPortOptions options;
  options.linger = 0;  // a request that nobody waits for any more need not be sent
  options.keep_last_reply = true;
  STRATA_ASSIGN(auto port, ZmqDealerPort::Create(std::move(context), options));
  wire::Header header;
  header.version = wire::kVersionMin;  // the server's versions are not known yet
  header.command = command;
  header.request_id = SystemRandom64();
  header.cluster_id = cluster_id;
  header.client_hi = SystemRandom64();
  header.client_lo = SystemRandom64();
  header.timeout_ms = static_cast<uint32_t>(std::max<TimeNs>(1, timeout / kMillisecond));
  const Envelope request{"tcp://" + address, wire::Seal(header, {std::move(body)})};
  STRATA_TRY(port->Send(request).Prefixed(address));
  TimeNs next = again ? clock.Now() + kAskAgainAfter : deadline;
  while (true) {
    STRATA_ASSIGN(std::optional<Envelope> envelope, port->Receive(std::min(next, deadline)));
    if (!envelope) {
      const TimeNs now = clock.Now();
      if (now >= deadline) return NoAnswer(address, timeout);
      if (now >= next) {
        static_cast<void>(port->Send(request));  // nothing, while as much as can waits for it
        next = now + kAskAgainAfter;
      }
      continue;
    }
    Result<wire::Received> reply = wire::Open(std::move(envelope->message));
    if (!reply.ok()) return reply.status().Prefixed(address);
    if (reply->header.request_id != header.request_id) continue;
    STRATA_TRY(wire::StatusOfReply(*reply).Prefixed(address));
    if (reply->header.command != command) {
      return Invalid(fmt::format("{} answered a request with another command", address));
    }
    return std::move(reply->payload);
  }
}

}  // namespace

Result<std::vector<std::byte>> CallControl(const std::string& address, uint64_t cluster_id,
                                           std::span<const std::byte> body, TimeNs timeout,
                                           bool again) {
  STRATA_ASSIGN(const Message reply, Ask(address, cluster_id, wire::Command::kControl,
                                         Frame::Copy(body), timeout, again));
  const auto bytes = reply[0].bytes();
  return std::vector<std::byte>(bytes.begin(), bytes.end());
}

Result<wire::HelloReply> CallHello(const std::string& address, uint64_t cluster_id,
                                   TimeNs timeout) {
  const wire::HelloRequest hello{.client_name = "strata-admin"};
  STRATA_ASSIGN(const Message reply, Ask(address, cluster_id, wire::Command::kHello,
                                         wire::EncodeHelloRequest(hello), timeout, true));
  Result<wire::HelloReply> decoded = wire::DecodeHelloReply(reply[0].bytes());
  if (!decoded.ok()) return decoded.status().Prefixed(address);
  return decoded;
}

}  // namespace strata
