// The tables that a client knows of, so that an operation's shapes are checked before any of its
// messages is sent: an operation over several tables then applies to all of them or to none.
// Internal to ps/client.
#pragma once

#include <unordered_map>

#include "storage/table.h"
#include "strata/status.h"

namespace strata::client {

// Not thread-safe. It may be behind the servers, which check everything again.
class TableCache {
 public:
  void Learn(const TableSpec& spec) { tables_.insert_or_assign(spec.id(), Entry{spec, true}); }
  // The table is no longer known, but for its name.
  void Forget(TableId table);

  // The level of writes to the table that name none; kDefault when the table says nothing.
  AckLevel AckOf(TableId table) const;

  // kNotFound when a table is not known, kInvalid when a part does not fit its table.
  Status Check(const Operation& operation) const;
  // kNotFound for a table that a server does not have: by its name where that was ever known.
  Status Missing(TableId table) const;

 private:
  struct Entry {
    TableSpec spec;
    bool known;
  };
  std::unordered_map<TableId, Entry> tables_;
};

}  // namespace strata::client
