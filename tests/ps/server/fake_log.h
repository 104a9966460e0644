// A log in memory: what the lane has appended, how far it is written and synced, and faults on
// demand. Its records outlive it, as a file would.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "storage/log/log.h"

namespace strata {

struct FakeLogState {
  struct Record {
    RecordKind kind{};
    std::vector<std::byte> body;
  };
  std::vector<Record> records;  // LSN 1 is records[0]
  Lsn written = 0;
  Lsn synced = 0;
  int appends_until_full = -1;  // 0: the next one finds no room; -1: never
  bool write_fails = false;
  bool sync_fails = false;
  int writes = 0;
};

class FakeLog : public WriteAheadLog {
 public:
  explicit FakeLog(std::shared_ptr<FakeLogState> state) : state_(std::move(state)) {}

  Result<Lsn> Append(RecordKind kind, std::span<const std::span<const std::byte>> body) override {
    if (state_->appends_until_full == 0) return LookForRoom();
    if (state_->appends_until_full > 0) --state_->appends_until_full;
    FakeLogState::Record record{.kind = kind, .body = {}};
    for (const auto& piece : body) {
      record.body.insert(record.body.end(), piece.begin(), piece.end());
    }
    state_->records.push_back(std::move(record));
    return appended();
  }
  bool Fits(size_t) const override { return true; }
  Status Write() override {
    ++state_->writes;
    if (state_->write_fails) return Failed("the fake write failed");
    state_->written = appended();
    return {};
  }
  Status Sync() override {
    if (state_->sync_fails) return Failed("the fake sync failed");
    state_->synced = state_->written;
    return {};
  }
  std::function<Status()> TakeBelow(Lsn) override {
    return [] { return Status(); };
  }
  Status LookForRoom() override {
    return state_->appends_until_full == 0 ? DiskFull("the fake disk is full") : Status();
  }
  Lsn appended() const override { return state_->records.size(); }
  Lsn written() const override { return state_->written; }
  Lsn synced() const override { return state_->synced; }
  size_t buffered() const override { return appended() == written() ? 0 : 1; }
  uint64_t bytes_on_disk() const override { return 0; }

 private:
  const std::shared_ptr<FakeLogState> state_;
};

}  // namespace strata
