#include "tests/sim/planted_bugs.h"

#include <set>
#include <utility>

#include "proto/format/checkpoint_manifest.h"
#include "ps/shard/lane_record.h"
#include "tests/sim/watched_disk.h"

namespace strata::sim {
namespace {

// Everything as the log below does it.
class Through : public WriteAheadLog {
 public:
  explicit Through(std::unique_ptr<WriteAheadLog> log) : log_(std::move(log)) {}
  Result<Lsn> Append(RecordKind kind, std::span<const std::span<const std::byte>> body) override {
    return log_->Append(kind, body);
  }
  bool Fits(size_t body_bytes) const override { return log_->Fits(body_bytes); }
  Status Write() override { return log_->Write(); }
  Status Sync() override { return log_->Sync(); }
  std::function<Status()> TakeBelow(Lsn lsn) override { return log_->TakeBelow(lsn); }
  Status LookForRoom() override { return log_->LookForRoom(); }
  Lsn appended() const override { return log_->appended(); }
  Lsn written() const override { return log_->written(); }
  Lsn synced() const override { return log_->synced(); }
  size_t buffered() const override { return log_->buffered(); }
  uint64_t bytes_on_disk() const override { return log_->bytes_on_disk(); }

 protected:
  const std::unique_ptr<WriteAheadLog> log_;
};

class WritesLate : public Through {
 public:
  using Through::Through;
  Status Write() override {
    constexpr int kEvery = 4;
    return ++writes_ % kEvery == 0 ? log_->Write() : Status();
  }
  Status Sync() override {
    STRATA_TRY(log_->Write());
    return log_->Sync();
  }
  Lsn written() const override { return log_->appended(); }

 private:
  int writes_ = 0;
};

class SyncsLate : public Through {
 public:
  using Through::Through;
  Lsn synced() const override { return log_->written(); }
};

// Syncs of parts wait for the manifest of their checkpoint.
class PartsLater {
 public:
  explicit PartsLater(Disk& below) : below_(below) {}

  Result<bool> Watch(DiskChange change, const std::string& path) {
    constexpr std::string_view kTemporary = ".tmp";
    if (change == DiskChange::kSync && path.ends_with(".part.tmp")) {
      waiting_.insert(path.substr(0, path.size() - kTemporary.size()));
      return false;
    }
    if (change == DiskChange::kRename) {
      manifest_ = path.ends_with(format::kCheckpointManifestName);
    }
    if (change != DiskChange::kSyncFolder || !manifest_) return true;
    STRATA_TRY(below_.SyncFolder(path));
    return Sync();
  }

 private:
  Result<bool> Sync() {
    for (const std::string& path : std::exchange(waiting_, {})) {
      const auto part = below_.OpenToRead(path);
      if (part.ok()) STRATA_TRY((*part)->Sync());
    }
    return false;
  }

  Disk& below_;
  std::set<std::string> waiting_;
  bool manifest_ = false;
};

// WRITES with another client's name in each header.
std::vector<std::byte> Renamed(std::span<const std::byte> body) {
  std::vector<std::byte> renamed;
  const Result<std::vector<LoggedWrite>> writes = DecodeWrites(body);
  STRATA_CHECK(writes.ok());
  for (const LoggedWrite& write : *writes) {
    wire::Header header = write.header;
    header.client_hi = ~header.client_hi;
    RecordBody pieces;
    pieces.AddWrite(header, write.payload);
    for (const auto& piece : pieces.pieces()) {
      renamed.insert(renamed.end(), piece.begin(), piece.end());
    }
  }
  return renamed;
}

template <typename T>
Bugs Wrapping() {
  Bugs bugs;
  bugs.wrap_log = [](std::unique_ptr<WriteAheadLog> log) -> std::unique_ptr<WriteAheadLog> {
    return std::make_unique<T>(std::move(log));
  };
  return bugs;
}

}  // namespace

Bugs AckBeforeLog() { return Wrapping<WritesLate>(); }

Bugs AckBeforeSync() { return Wrapping<SyncsLate>(); }

Bugs ManifestFirst() {
  Bugs bugs;
  bugs.wrap_checkpoints = [](Disk& below) -> std::unique_ptr<Disk> {
    const auto later = std::make_shared<PartsLater>(below);
    return std::make_unique<WatchedDisk>(
        below,
        [later](DiskChange change, const std::string& path) { return later->Watch(change, path); });
  };
  return bugs;
}

Bugs ForgetWindows() {
  Bugs bugs;
  bugs.replayed = [bytes = std::vector<std::byte>()](
                      const LogRecord& record) mutable -> std::optional<LogRecord> {
    if (record.kind != RecordKind::kWrites) return record;
    bytes = Renamed(record.body);
    return LogRecord{.kind = record.kind, .lsn = record.lsn, .body = bytes};
  };
  return bugs;
}

}  // namespace strata::sim
