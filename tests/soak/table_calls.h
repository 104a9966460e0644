// Blocking calls to one table of a soak's cluster.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ps/client/remote_store.h"
#include "storage/table.h"
#include "tests/soak/soak_servers.h"

namespace strata::soak {

// Operations, and the connection itself, end within the cluster's patience.
Result<std::unique_ptr<RemoteStore>> ConnectTo(const SoakServers& servers, const std::string& name);

// A table whose rows begin at 0 and from which a push subtracts its gradients.
TableSpec SumTable(const std::string& name, uint32_t dim);

// Rows of `table.dim` floats, one a key.
Status PushRows(TableStore& store, const TableSpec& table, std::span<const Key> keys,
                std::span<const float> gradients);
Status AssignRows(TableStore& store, const TableSpec& table, std::span<const Key> keys,
                  std::span<const float> values);
Result<std::vector<float>> PullRows(TableStore& store, const TableSpec& table,
                                    std::span<const Key> keys);

}  // namespace strata::soak
