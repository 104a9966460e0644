// CONTROL: handed to the server's control thread, which answers.
#include <fmt/format.h>

#include "ps/service/handlers.h"

namespace strata {
namespace {

constexpr size_t kControlBytesMax = size_t{64} << 10;  // many may wait

}  // namespace

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
