// A lane's half of checkpoints (docs/decisions/0006): what it knows of cuts, the cut that is being
// saved, and the loading of its tables from a checkpoint. The commands are in ps/commands.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/file/disk.h"
#include "base/file/replaceable_file.h"
#include "base/thread/mutex.h"
#include "proto/format/checkpoint_manifest.h"
#include "proto/wire/cut_limit.h"
#include "proto/wire/shard_map.h"
#include "ps/shard/checkpoint_turn.h"
#include "ps/shard/step_barrier.h"
#include "storage/checkpoint/part_writer.h"
#include "storage/log/log.h"
#include "storage/memory/local_table.h"
#include "strata/status.h"

namespace strata {

struct LaneState;

// Where checkpoints lie.
struct CheckpointConfig {
  Disk* disk = nullptr;
  std::string root;  // one folder for all servers
  // Names the log's base, and is replaced when the log is trimmed, also when it has filled its
  // disk; null without a log. After recovery the background's alone.
  std::shared_ptr<ReplaceableFile> base;
  uint32_t keep = 3;             // the newest that stay
  const Clock* clock = nullptr;  // for the time in manifests
};

using MakeTable = std::function<std::unique_ptr<LocalTable>(const TableSpec&)>;
// By the id that messages name them by: wire::ShortId of their own.
using Tables = std::map<uint32_t, std::unique_ptr<LocalTable>>;
inline uint32_t ShortId(TableId id) { return wire::ShortId(static_cast<uint64_t>(id)); }

// What a lane gets back of a checkpoint.
struct LaneLoad {
  CheckpointConfig from;
  uint64_t cluster_id = 0;
  uint32_t number = 0;
  std::shared_ptr<const wire::ShardMap> map;
  uint16_t index = 0;  // of the lane in it
  bool with_image = false;
  bool is_marked = false;  // the lane has marked it before (storage/checkpoint/checkpoint_marks.h)
  std::string table = {};  // the only one that is wanted; "": all
  MakeTable make_table;
};
struct LoadedLane {
  format::CheckpointManifest manifest;
  Tables tables;
  std::string image;  // with_image
};
// Any thread. Errors name file, offset, expected and found; kNotFound: the checkpoint, or the only
// table that is wanted, does not exist.
Result<LoadedLane> LoadLane(const LaneLoad& load);

// A cut that is being saved, or may be: the tables' snapshots hold it.
struct Saving {
  struct Table {
    TableSpec spec;
    LocalTable* table = nullptr;
    uint32_t since = 0;  // what an incremental part holds of it; 0: all rows
    std::vector<Key> erased;
  };
  // The side of the background thread.
  struct Part {
    Status status;
    std::unique_ptr<PartWriter> writer;
    std::atomic<size_t> bytes_queued{0};
    // Pages that have been written, to be filled again: memory that is there already.
    Mutex mutex;
    std::vector<std::shared_ptr<ScanPage>> free_pages STRATA_GUARDED_BY(mutex);

    std::shared_ptr<ScanPage> TakePage();
    void GiveBack(std::shared_ptr<ScanPage> page);
  };

  uint32_t number = 0;
  TimeNs deadline = 0;  // nobody asked for it until then: it goes
  std::vector<Table> tables;
  Tables dropped;  // of `tables`, gone from the lane meanwhile
  std::vector<std::byte> image;
  // Once it is asked for.
  std::shared_ptr<Part> part;  // null: not yet
  bool full = false;
  TimeNs begun = 0;
  size_t next = 0;  // table whose rows are handed on
  bool table_begun = false;
  std::vector<ReplyTo> waiting;
};

// A RESTORE whose checkpoint is being loaded. One at a time.
struct Restoring {
  wire::Header request;
  std::string table;  // the only one that is replaced; "": all
  std::vector<ReplyTo> waiting;
  TimeNs begun = 0;
};

// What the background thread has done and the lane's has to finish. Shared by both.
class Finished {
 public:
  using Then = std::function<void(LaneState&)>;
  void Add(Then then);
  std::vector<Then> Take();
  bool any() const { return any_.load(); }

 private:
  Mutex mutex_;
  std::vector<Then> thens_ STRATA_GUARDED_BY(mutex_);
  std::atomic<bool> any_{false};
};

struct CheckpointState {
  uint32_t cut = 0;             // the newest, of this lane
  wire::CutLimit cut_limit;     // of what others say about it
  uint32_t newest_there = 0;    // checkpoint in the folder, when it was last looked at,
  TimeNs next_look = 0;         // which is not to be done before
  uint32_t recovered_cut = 0;   // that of the process before this one
  uint32_t increment_base = 0;  // the checkpoint that the next incremental one builds on; 0: none
  uint32_t cut_base = 0;        // the one that the newest cut's part builds on, until it is trimmed
  uint32_t restored_cut = 0;    // checkpoints up to it know nothing of tables that were restored
  uint32_t log_base = 0;        // the checkpoint that the log begins behind; 0: none
  uint32_t next_base = 0;       // the one that it is made to begin after; 0: none
  std::map<uint32_t, Lsn> cut_records;  // in the log, behind its base
  std::set<uint32_t> restored;          // by records of the log, behind its base
  std::unique_ptr<Saving> saving;       // null: nothing to save
  // Number and description of the last part, or why it could not be saved: for whoever asks again.
  std::pair<uint32_t, Result<std::string>> saved = {0, std::string()};
  // Shared with its load, which finishes this one and no other. Null: the lane serves.
  std::shared_ptr<Restoring> restoring;
  CheckpointTurn turn;          // of the first lane
  size_t background_bytes = 0;  // of requests that wait for work in the background
  std::shared_ptr<Finished> finished = std::make_shared<Finished>();
};

}  // namespace strata
