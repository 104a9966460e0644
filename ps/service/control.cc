// CONTROL: handed to the server's control thread, which answers.
#include "ps/service/handlers.h"

namespace strata {

void HandleControl(LaneState& lane, Request request) {
  if (lane.config.on_control) return lane.config.on_control(std::move(request));
  lane.Reply(request.reply_to(),
             Refused("this lane takes no control requests; ask lane 0, the server's main port"));
}

}  // namespace strata
