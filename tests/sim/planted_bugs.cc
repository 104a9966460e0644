#include "tests/sim/planted_bugs.h"

#include <utility>

#include "ps/shard/lane_record.h"

namespace strata::sim {
namespace {

// Everything as the log below does it.
class Through : public WriteAheadLog {
 public:
  explicit Through(std::unique_ptr<WriteAheadLog> log) : log_(std::move(log)) {}
  Result<Lsn> Append(RecordKind kind, std::span<const std::span<const std::byte>> body) override {
    return log_->Append(kind, body);
  }
  Status Write() override { return log_->Write(); }
  Status Sync() override { return log_->Sync(); }
  Status Trim(Lsn lsn) override { return log_->Trim(lsn); }
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
