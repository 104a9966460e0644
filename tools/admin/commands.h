// The commands of strata-admin. Each writes its whole answer to *out, as a table or as one JSON
// object a line, and returns what went wrong. An answer and an error can come together: a status of
// a cluster with a dead node is complete, and kLost.
#pragma once

#include <string>

#include "base/status.h"
#include "tools/admin/request.h"

namespace strata::admin {

Status RunTopology(const Request& request, std::string* out);
Status RunConfigCheck(const Request& request, std::string* out);

// Whichever of the above the request names.
Status RunCommand(const Request& request, std::string* out);

}  // namespace strata::admin
