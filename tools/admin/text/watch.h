// strata-admin --watch: a command again and again.
#pragma once

#include "strata/status.h"
#include "tools/admin/request.h"

namespace strata::admin {

// Carries the request out and prints its answer every request.watch_interval, until SIGINT or
// SIGTERM ends it (OK) or the command line proves wrong. Errors are printed and tried again: a
// cluster may come back. On a terminal each table replaces the one before.
Status Watch(const Request& request);

}  // namespace strata::admin
