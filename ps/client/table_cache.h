// The tables that a client knows of, so that an operation's shapes are checked before any of its
// messages is sent: an operation over several tables then applies to all of them or to none.
// Internal to ps/client.
#pragma once

#include <unordered_map>

#include "base/status.h"
#include "storage/table.h"

namespace strata::client {

// Not thread-safe. It may be behind the servers, which check everything again.
class TableCache {
 public:
  void Learn(const TableSpec& spec) { tables_.insert_or_assign(spec.id(), spec); }
  void Forget(TableId table) { tables_.erase(table); }

  // kNotFound when a table is not known, kInvalid when a part does not fit its table.
  Status Check(const Operation& operation) const;

 private:
  std::unordered_map<TableId, TableSpec> tables_;
};

}  // namespace strata::client
