#include "base/status.h"
#include "tools/admin/commands.h"

namespace strata::admin {

Status RunCommand(const Request& request, std::string* out) {
  switch (request.command) {
    case Request::Command::kTopology:
      return RunTopology(request, out);
    case Request::Command::kConfigCheck:
      return RunConfigCheck(request, out);
    default:
      return Internal("not yet");
  }
}

}  // namespace strata::admin
