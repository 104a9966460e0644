#include "tests/soak/table_calls.h"

#include <utility>

namespace strata::soak {
namespace {

Operation On(const TableSpec& table, OpKind kind, std::span<const Key> keys) {
  Operation operation;
  operation.kind = kind;
  operation.parts.resize(1);
  operation.parts[0].table = table.id();
  operation.parts[0].keys = keys;
  return operation;
}

}  // namespace

Result<std::unique_ptr<RemoteStore>> ConnectTo(const SoakServers& servers,
                                               const std::string& name) {
  return RemoteStore::Connect({.servers = servers.addresses(),
                               .cluster_id = SoakServers::cluster_id(),
                               .client_name = name,
                               .connect_timeout = servers.options().patience,
                               .request_timeout = servers.options().patience});
}

TableSpec SumTable(const std::string& name, uint32_t dim) {
  TableSpec spec;
  spec.name = name;
  spec.dim = dim;
  spec.optimizer.kind = OptimizerKind::kSgd;
  spec.optimizer.learning_rate = 1.0F;
  spec.initializer.kind = InitializerKind::kZero;
  return spec;
}

Status PushRows(TableStore& store, const TableSpec& table, std::span<const Key> keys,
                std::span<const float> gradients) {
  Operation push = On(table, OpKind::kUpdate, keys);
  push.parts[0].in = gradients;
  return SubmitAndWait(store, std::move(push)).status;
}

Status AssignRows(TableStore& store, const TableSpec& table, std::span<const Key> keys,
                  std::span<const float> values) {
  Operation assign = On(table, OpKind::kAssign, keys);
  assign.parts[0].in = values;
  return SubmitAndWait(store, std::move(assign)).status;
}

Result<std::vector<float>> PullRows(TableStore& store, const TableSpec& table,
                                    std::span<const Key> keys) {
  std::vector<float> rows(keys.size() * table.dim);
  Operation pull = On(table, OpKind::kLookup, keys);
  pull.parts[0].out = rows;
  STRATA_TRY(SubmitAndWait(store, std::move(pull)).status);
  return rows;
}

}  // namespace strata::soak
