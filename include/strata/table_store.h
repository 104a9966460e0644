// TableStore: the one interface to sparse parameters, whether their tables are in this process
// (strata/local_store.h) or on the servers of a cluster (strata/cluster.h). Callers cannot tell
// them apart.
//
// Batch only and asynchronous: Submit takes an operation over a group of tables and returns at
// once; a completion brings the outcome. What holds for every implementation:
//   - A lookup never changes anything. A missing row answers with its initial value, a pure
//     function of (table seed, key). An update or an assign creates it.
//   - Keys in a batch may repeat, in any order. Gradients of equal keys are summed in batch order,
//     then the optimizer's rule runs once for the key. Of repeated assigns the last one holds.
//   - Operations submitted by one thread to one store take effect in the order of submission, per
//     key.
//   - Nothing is lost: an operation that finds no room fails, and drops no row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "strata/exec.h"
#include "strata/row.h"
#include "strata/status.h"
#include "strata/table_spec.h"
#include "strata/time.h"

namespace strata {

enum class OpKind : uint8_t {
  kLookup = 1,        // rows out
  kUpdate = 2,        // gradients in; the optimizer's rule runs where the row lives
  kAssign = 3,        // values in; optimizer state and counters restart
  kErase = 4,         // rows that exist go; missing ones are no error
  kScan = 5,          // one page of rows out, see ScanPage
  kStats = 6,         // counts out
  kFlush = 7,         // everything before it has taken effect everywhere when it completes
  kPrefetch = 8,      // a hint: these keys are looked up soon
  kUpdateLookup = 9,  // an update, then rows out as they are once it has been applied
};

std::string_view OpKindName(OpKind kind);  // "lookup", "update", ...

// A row as a scan returns it: value, and with `with_state` the optimizer state and counters too.
struct ScanPage {
  // in
  // Where the page begins: 0 and 0 first, then what the previous page left here.
  uint64_t cursor = 0;  // any 64 bits: some tables go by number, some by key, some by hash
  uint32_t lane = 0;    // a cluster's
  uint32_t rows_max = 4096;
  bool with_state = false;
  // out
  std::vector<Key> keys = {};              // in no promised order
  std::vector<float> rows = {};            // keys.size() x (dim, or dim + state_width)
  std::vector<RowCounters> counters = {};  // with_state only
  bool done = false;                       // no page follows
};
// Each row that exists throughout a scan comes in exactly one page; one that is made or erased
// meanwhile may or may not.

struct TableStats {
  uint64_t rows = 0;
  uint64_t bytes = 0;        // memory held: index, rows, free space
  uint64_t lookups = 0;      // keys looked up, repeats counted
  uint64_t lookup_hits = 0;  // ... of which the row existed
  uint64_t updates = 0;      // keys that updates brought, repeats and rejected ones counted
  uint64_t steps = 0;        // update operations applied; a synchronous step is one
  uint64_t rejected = 0;     // rows left alone because their summed gradient held NaN or infinity
  // A remote store does not tell these.
  uint64_t cold_rows = 0;     // of `rows`, those on disk alone
  uint64_t not_admitted = 0;  // keys of updates that were counted and got no row yet
  uint64_t passed_down = 0;  // batches that a GPU's memory had no room for: the tier below did them
};

// One table's part of an operation. Spans stay valid and untouched until the completion has run.
struct TablePart {
  TableId table{};
  std::span<const Key> keys{};  // lookup, update, assign, erase, prefetch
  std::span<const float> in{};  // update: gradients, assign: values; keys.size() x dim, row by row
  std::span<float> out{};       // lookup: keys.size() x dim, row by row
  ScanPage* page = nullptr;     // scan
  TableStats* stats = nullptr;  // stats
  std::span<const Key> then{};  // update-lookup: the keys looked up; out.size() is theirs x dim
  // Whether `keys` and `then` are each in key order (strata/key_order.h): a cluster's store then
  // need not divide them, and servers refuse what is not.
  bool in_key_order = false;
};

// Synchronous training (staleness 0): ranks 0 to world - 1 of a group take steps first_step,
// first_step + 1, ... together. Each rank sends exactly one update a step for each table, an empty
// one too. A table closes step s when the updates of all ranks have come: it sums their gradients
// in rank order, runs the rule once a key, and acknowledges all of them. A lookup marked with step
// s waits until step s - 1 is closed. An update-lookup of step s is an update of step s and a
// lookup of step s + 1 in one.
struct SyncGroup {
  // New for every run of a job. A store with several connections (RemoteStoreOptions) takes an id
  // for each, from this one on.
  uint32_t id = 0;
  uint16_t rank = 0;
  uint16_t world = 1;
  uint64_t first_step = 1;
};

struct Operation {
  OpKind kind = OpKind::kLookup;
  std::vector<TablePart> parts = {};
  MemorySpace space = MemorySpace::kHost;  // where the spans lie
  Exec exec = {};
  uint64_t step = 1;  // optimizer time of an update (Adam's t), from 1
  std::optional<SyncGroup> sync =
      {};                    // of a lookup, update or update-lookup in synchronous training
  TimeNs deadline = kNever;  // Now() + a duration (strata/time.h); kDeadlineExceeded after it
  AckLevel ack = AckLevel::kDefault;
  // It owns what the parts' spans show. With an owner the store need not copy that, and may hold on
  // to the owner for a while after the completion has run.
  std::shared_ptr<const void> owner = {};
};

struct LaneStatus {
  uint32_t lane = 0;  // 0 for a store in this process
  Status status = {};
};

struct Outcome {
  Status status = {};                  // OK, or the first lane's error with its context
  std::vector<LaneStatus> lanes = {};  // one for each that took part: which did their part
  // Of an erase: rows that went. Nothing where a server does not say: the answer is that to a
  // repeat, or the server is of an older version.
  std::optional<uint64_t> erased = {};
};

// Runs exactly once, on any thread, possibly inside Submit; must not block.
using Completion = std::function<void(Outcome)>;

// Thread-safe.
class TableStore {
 public:
  virtual ~TableStore() = default;
  // Makes the table everywhere. One that exists with the same spec is fine; with another, kExists.
  virtual Status CreateTable(const TableSpec& spec) = 0;
  virtual Status DropTable(const std::string& name) = 0;    // kNotFound when there is none
  virtual Result<std::vector<TableSpec>> ListTables() = 0;  // sorted by name
  virtual void Submit(Operation operation, Completion done) = 0;
};

// Submit, then wait for the outcome. Blocks the calling thread.
Outcome SubmitAndWait(TableStore& store, Operation operation);

// ---- One operation on one table. Each blocks; errors name the table. kInvalid: a span has another
// size than keys.size() x table.dim, or the store's table has another dim.

// The rows of `keys`, keys.size() x table.dim elements, row by row.
Result<std::vector<float>> Pull(TableStore& store, const TableSpec& table,
                                std::span<const Key> keys);
// One update: the rows of `keys` follow `gradients`, keys.size() x table.dim elements. Returns when
// the table's AckLevel is reached. `step` is the optimizer's time, from 1. A row whose summed
// gradient holds NaN or infinity is left alone, which is no error: TableStats::rejected counts it.
Status Push(TableStore& store, const TableSpec& table, std::span<const Key> keys,
            std::span<const float> gradients, uint64_t step = 1);
// The rows of `keys` become `values`, keys.size() x table.dim elements; optimizer state restarts.
Status Assign(TableStore& store, const TableSpec& table, std::span<const Key> keys,
              std::span<const float> values);
// Rows that exist go; missing ones are no error.
Status Erase(TableStore& store, const TableSpec& table, std::span<const Key> keys);
// Every row that exists, in pages of keys.size() x table.dim elements. The error of `page` ends the
// scan.
Status Scan(
    TableStore& store, const TableSpec& table,
    const std::function<Status(std::span<const Key> keys, std::span<const float> rows)>& page);
Result<TableStats> Stats(TableStore& store, const TableSpec& table);

}  // namespace strata
