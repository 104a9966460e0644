// Request: what the command line of strata-admin asked for. Plain data; command_line.h makes it,
// commands.h carries it out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "cluster/schedule/cost_model.h"
#include "cluster/topology/halving.h"
#include "storage/table_spec.h"
#include "tools/admin/collection/collection_request.h"
#include "tools/admin/tables/key_options.h"

namespace strata::admin {

// topology cost.
struct CostRequest {
  CostModel model;
  std::vector<uint64_t> bytes;          // of the whole vector, ascending
  std::optional<Collective> operation;  // empty: all
};

// scan.
struct ScanRequest {
  uint64_t limit = UINT64_MAX;  // rows at most
  uint32_t lane = 0;            // where it begins: as ScanPage's
  uint64_t cursor = 0;
  bool with_state = false;
};

struct Request {
  enum class Command : uint8_t {
    kStatus,
    kStats,
    kTables,
    kTableCreate,
    kTableDrop,
    kGet,
    kPut,
    kPush,
    kScan,
    kErase,
    kTopology,
    kTopologyCost,
    kConfigCheck,
    kPing,
    kDrain,
    kShutdown,
    kClients,
    kClientsEvict,
    kCheckpoint,
    kCheckpointList,
    kRestore,
    kVerify,
    kExport,
    kKey,
    kCollectionCreate,
    kCollectionLoad,
    kCollectionExport,
    kCollectionDrop,
    kCollectionStats,
    kCollectionGet,
    kCollectionDelete,
    kCollectionSearch,
    kCollectionExplain,
  };
  enum class Output : uint8_t { kTable, kJson };

  Command command = Command::kStatus;

  // For every command.
  std::string config_file;  // cluster.toml; "" with no server either: one server at kDefaultServer
  std::string server;       // "host:port": this server alone, without a file
  Output output = Output::kTable;
  TimeNs timeout = 3 * kSecond;  // for one node to answer

  // For those that have a use for it.
  TimeNs watch_interval = 0;    // status, stats: 0 shows once
  bool expect_workers = false;  // status: workers that are all down are a fault, too
  std::string rendezvous;       // status: "host:port" where workers met; "": as the file says
  std::string table;            // stats ("": all), table drop, export, those of rows
  TableSpec spec;               // table create
  std::vector<Key> keys;        // get, erase, put and push (one)
  std::vector<float> values;    // put; push: the gradient
  uint64_t step = 0;            // push; 0: not given
  ScanRequest scan;
  int world = 0;  // topology, its cost; 0: the workers of the machine list
  HalvingForm form = HalvingForm::kPairLast;  // topology
  CostRequest cost;                           // topology cost
  std::string file;                           // config check; verify, export: a folder
  bool yes = false;              // table drop, collection drop, shutdown, restore: without asking
  int only_server = -1;          // drain: the server's rank; -1 all
  std::string client;            // clients evict: its id
  bool full = false;             // checkpoint: all rows, whatever has changed
  uint32_t number = 0;           // restore: of a checkpoint
  std::string export_format;     // export: ParseExportFormat's names
  std::string export_folder;     // export
  KeyRequest key;                // key
  CollectionRequest collection;  // those of collections
};

constexpr const char* kDefaultServer = "127.0.0.1:7600";

}  // namespace strata::admin
