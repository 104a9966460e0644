// The tables of a running cluster, for commands that change or read rows.
#pragma once

#include <memory>

#include "base/status.h"
#include "storage/table.h"
#include "tools/admin/request.h"

namespace strata::admin {

// Connects to all servers within request.timeout; kLost names those that do not answer.
Result<std::unique_ptr<TableStore>> ConnectStore(const Request& request);

}  // namespace strata::admin
