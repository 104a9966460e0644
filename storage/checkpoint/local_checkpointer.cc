#include "storage/checkpoint/local_checkpointer.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/log.h"
#include "base/thread/mutex.h"
#include "proto/wire/cut_limit.h"
#include "storage/checkpoint/checkpoint_files.h"
#include "storage/checkpoint/load.h"
#include "storage/checkpoint/part_writer.h"
#include "storage/memory/scan_pages.h"

namespace strata {
namespace {

constexpr uint32_t kPageRows = 4096;
constexpr uint64_t kNoCluster = 0;

// What is known of a table at the cut. Its snapshot holds all rows, so that Save may still choose:
// of an incremental checkpoint those rows are left out that are older than `since`.
struct CutTable {
  std::shared_ptr<LocalStore::Entry> entry;
  TableSpec spec;
  uint32_t since = 0;
  std::vector<Key> erased;
};

struct PendingCut {
  uint32_t number = 0;
  std::vector<CutTable> tables;
};

// Makes tables beside those of the store.
class NewTables : public LoadTarget {
 public:
  // `only`: the name of the one table that is wanted; "": all.
  NewTables(const LocalStore& store, uint32_t epoch, std::string only)
      : store_(store), epoch_(epoch), only_(std::move(only)) {}

  bool Owns(uint32_t) const override { return true; }
  bool Wants(const std::string& table) const override { return only_.empty() || table == only_; }
  Result<LocalTable*> Table(const TableSpec& spec) override {
    auto& table = tables_[spec.id()];
    if (!table) {
      table = store_.MakeTable(spec);
      table->SetEpoch(epoch_);
    }
    return table.get();
  }

  std::vector<std::unique_ptr<LocalTable>> Take() {
    std::vector<std::unique_ptr<LocalTable>> tables;
    for (auto& [id, table] : tables_) tables.push_back(std::move(table));
    return tables;
  }

 private:
  const LocalStore& store_;
  const uint32_t epoch_;
  const std::string only_;
  std::map<TableId, std::unique_ptr<LocalTable>> tables_;
};

class LocalCheckpointer : public Checkpointer {
 public:
  LocalCheckpointer(LocalStore& store, LocalCheckpointerOptions options)
      : store_(store), options_(std::move(options)), disk_(*options_.disk) {}
  ~LocalCheckpointer() override { Abandon(); }

  Result<uint32_t> Cut(TimeNs deadline) override;
  Result<CheckpointInfo> Save(uint32_t number, bool full, std::span<const Attachment> attachments,
                              TimeNs deadline) override;
  Result<std::vector<CheckpointInfo>> List(TimeNs deadline) override;
  Result<std::string> ReadAttachment(uint32_t number, const std::string& name,
                                     TimeNs deadline) override;
  Status Restore(uint32_t number, TimeNs deadline) override { return Load(number, "", deadline); }
  Status RestoreTable(uint32_t number, const std::string& table, TimeNs deadline) override {
    return Load(number, table, deadline);
  }

 private:
  Status Load(uint32_t number, const std::string& only, TimeNs deadline);
  Status InTime(TimeNs deadline, std::string_view what) const;
  void Abandon() STRATA_REQUIRES(mutex_);
  Result<format::PartEntry> WritePart(bool full, TimeNs deadline) STRATA_REQUIRES(mutex_);
  Status WriteTable(PartWriter& writer, const CutTable& table, bool full, TimeNs deadline);
  Result<format::CheckpointManifest> Commit(const format::PartEntry& part,
                                            std::span<const Attachment> attachments)
      STRATA_REQUIRES(mutex_);

  LocalStore& store_;
  const LocalCheckpointerOptions options_;
  Disk& disk_;
  Mutex mutex_;  // held by each call
  std::optional<PendingCut> pending_ STRATA_GUARDED_BY(mutex_);
  // The checkpoint that the next incremental one builds on.
  uint32_t base_ STRATA_GUARDED_BY(mutex_) = 0;
};

Status LocalCheckpointer::InTime(TimeNs deadline, std::string_view what) const {
  if (deadline == kNever || options_.clock->Now() < deadline) return {};
  return DeadlineExceeded(fmt::format("{} took longer than its deadline allows", what));
}

void LocalCheckpointer::Abandon() {
  if (!pending_) return;
  for (const CutTable& table : pending_->tables) {
    const MutexLock lock(table.entry->mutex);
    table.entry->table->EndSnapshot();
  }
  pending_.reset();
}

Result<uint32_t> LocalCheckpointer::Cut(TimeNs deadline) {
  const MutexLock lock(mutex_);
  STRATA_TRY(InTime(deadline, "the cut"));
  Abandon();
  STRATA_TRY(disk_.MakeFolder(options_.root));
  STRATA_TRY(CheckCheckpointOwner(disk_, options_.root, kNoCluster));
  STRATA_ASSIGN(const std::vector<std::string> names, disk_.List(options_.root));
  uint32_t number = store_.epoch();
  for (const std::string& name : names) {
    number = std::max(number, wire::CutOrNone(format::ParseCheckpointFolderName(name).value_or(0)));
  }
  if (number >= wire::kCutMax) return Refused("there is no number left for another checkpoint");
  ++number;
  pending_ = PendingCut{.number = number, .tables = {}};
  auto entries = store_.Cut(number, [&](LocalTable& table) {
    mutex_.AssumeHeld();
    CutTable cut{.entry = nullptr, .spec = table.spec(), .since = 0, .erased = {}};
    cut.since = table.BeginSnapshot(base_);
    cut.erased = table.SnapshotErased();
    if (cut.since != 0) table.BeginSnapshot(0);
    pending_->tables.push_back(std::move(cut));
  });
  for (size_t i = 0; i < entries.size(); ++i) pending_->tables[i].entry = std::move(entries[i]);
  return number;
}

Status LocalCheckpointer::WriteTable(PartWriter& writer, const CutTable& table, bool full,
                                     TimeNs deadline) {
  const uint32_t since = full ? 0 : table.since;
  STRATA_TRY(writer.AddTable(table.spec, since));
  if (since != 0) STRATA_TRY(writer.AddErased(table.spec.id(), table.erased));
  ScanPage page;
  page.rows_max = kPageRows;
  while (!page.done) {
    STRATA_TRY(InTime(deadline, "the checkpoint"));
    {
      const MutexLock lock(table.entry->mutex);
      STRATA_TRY(table.entry->table->SnapshotPage(page));
    }
    if (since != 0) {
      KeepRows(&page, [&](size_t i) { return page.counters[i].checkpoint_epoch >= since; });
    }
    STRATA_TRY(writer.AddRows(table.spec.id(), page));
  }
  return {};
}

Result<format::PartEntry> LocalCheckpointer::WritePart(bool full, TimeNs deadline) {
  STRATA_ASSIGN(const auto writer, PartWriter::Create(disk_, options_.root,
                                                      {.number = pending_->number,
                                                       .parent = full ? 0 : base_,
                                                       .server = 0,
                                                       .lane = 0,
                                                       .cluster = kNoCluster}));
  for (const CutTable& table : pending_->tables) {
    STRATA_TRY(WriteTable(*writer, table, full, deadline));
  }
  return writer->Finish();
}

Result<format::CheckpointManifest> LocalCheckpointer::Commit(
    const format::PartEntry& part, std::span<const Attachment> attachments) {
  constexpr uint16_t kLanes[] = {1};
  STRATA_ASSIGN(wire::ShardMap shards, wire::MakeShardMap(kLanes));
  return CommitCheckpoint(disk_, options_.root,
                          {.writer = {},
                           .number = pending_->number,
                           .parent = 0,
                           .cluster = kNoCluster,
                           .wall_unix_ns = static_cast<uint64_t>(options_.clock->WallUnixNs()),
                           .job = options_.job,
                           .shards = std::move(shards),
                           .parts = {part},
                           .attachments = {}},
                          attachments);
}

Result<CheckpointInfo> LocalCheckpointer::Save(uint32_t number, bool full,
                                               std::span<const Attachment> attachments,
                                               TimeNs deadline) {
  const MutexLock lock(mutex_);
  if (!pending_ || pending_->number != number) {
    return Invalid(fmt::format("checkpoint {} was not cut, or another cut came after it", number));
  }
  const auto part = WritePart(full, deadline);
  auto manifest = part.ok() ? Commit(*part, attachments) : part.status();
  const PendingCut cut = std::move(*pending_);
  pending_.reset();
  for (const CutTable& table : cut.tables) {
    const MutexLock table_lock(table.entry->mutex);
    table.entry->table->EndSnapshot();
    if (manifest.ok()) table.entry->table->ForgetErased(number);
  }
  STRATA_TRY(manifest.status());
  base_ = number;
  // The checkpoint exists, whatever happens to old ones.
  if (const auto retired = RetireCheckpoints(disk_, options_.root, options_.keep, {base_});
      !retired.ok()) {
    Log(LogLevel::kWarning, "checkpoint: {}", retired.status().ToString());
  }
  return InfoOf(*manifest);
}

Result<std::vector<CheckpointInfo>> LocalCheckpointer::List(TimeNs deadline) {
  STRATA_TRY(InTime(deadline, "listing checkpoints"));
  STRATA_ASSIGN(const CheckpointList list, ListCheckpoints(disk_, options_.root));
  return InfosOf(list);
}

Result<std::string> LocalCheckpointer::ReadAttachment(uint32_t number, const std::string& name,
                                                      TimeNs deadline) {
  STRATA_TRY(InTime(deadline, "reading an attachment"));
  STRATA_ASSIGN(const auto manifest, ReadCheckpointManifest(disk_, options_.root, number));
  return ReadCheckpointAttachment(disk_, options_.root, manifest, name);
}

// `only`: the table; "": all of them.
Status LocalCheckpointer::Load(uint32_t number, const std::string& only, TimeNs deadline) {
  const MutexLock lock(mutex_);
  STRATA_TRY(InTime(deadline, "restoring"));
  Abandon();
  STRATA_TRY(CheckCheckpointOwner(disk_, options_.root, kNoCluster, number));
  NewTables target(store_, number, only);
  STRATA_TRY(LoadCheckpoint(disk_, options_.root, number, target).status());
  auto tables = target.Take();
  if (!only.empty() && tables.empty()) {
    return NotFound(fmt::format("checkpoint {} does not hold the table '{}'", number, only));
  }
  // Epochs never fall: what is written from now on is behind every cut so far.
  const uint32_t epoch = std::max(number, store_.epoch());
  for (const auto& table : tables) {
    table->ForgetErased(number);
    table->SetEpoch(epoch);
  }
  only.empty() ? store_.ReplaceTables(std::move(tables), epoch)
               : store_.ReplaceTable(std::move(tables.front()), epoch);
  base_ = number;
  return {};
}

}  // namespace

std::unique_ptr<Checkpointer> MakeLocalCheckpointer(LocalStore& store,
                                                    LocalCheckpointerOptions options) {
  return std::make_unique<LocalCheckpointer>(store, std::move(options));
}

}  // namespace strata
