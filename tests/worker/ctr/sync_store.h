// SyncStore: what a cluster does for synchronous training, in a few lines over the std::map model:
// it collects the updates of all ranks of a step, sums them in rank order, and holds back pulls
// until the step before is closed. One run of one group at a time.
#pragma once

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/thread/mutex.h"
#include "storage/table.h"
#include "tests/support/map_table.h"

namespace strata {

// Thread-safe: ranks are threads. A pull of a later step blocks its caller.
class SyncStore final : public TableStore {
 public:
  SyncStore() : own_(MakeMapStore()), inner_(own_.get()) {}
  // Over another model, which outlives it.
  explicit SyncStore(TableStore& inner) : inner_(&inner) {}

  Status CreateTable(const TableSpec& spec) override { return inner_->CreateTable(spec); }
  Status DropTable(const std::string& name) override { return inner_->DropTable(name); }
  Result<std::vector<TableSpec>> ListTables() override { return inner_->ListTables(); }

  void Submit(Operation operation, Completion done) override {
    if (!operation.sync.has_value()) return inner_->Submit(std::move(operation), std::move(done));
    const SyncGroup group = *operation.sync;
    operation.sync.reset();
    const MutexLock lock(mutex_);
    if (group.id != group_) {
      group_ = group.id;
      closed_ = group.first_step - 1;
    }
    if (operation.kind == OpKind::kLookup) {
      while (closed_ + 1 < operation.step) changed_.Wait(mutex_);
      return inner_->Submit(std::move(operation), std::move(done));
    }
    const bool first = waiting_.emplace(group.rank, Update{std::move(operation), done}).second;
    STRATA_CHECK(first);
    if (waiting_.size() == group.world) CloseStep();
  }

 private:
  struct Update {
    Operation operation;
    Completion done;
  };

  void CloseStep() STRATA_REQUIRES(mutex_) {
    std::vector<Key> keys;
    std::vector<float> gradients;
    Operation sum = waiting_.begin()->second.operation;
    for (const auto& [rank, update] : waiting_) {
      STRATA_CHECK(update.operation.step == closed_ + 1 && update.operation.parts.size() == 1);
      const TablePart& part = update.operation.parts[0];
      keys.insert(keys.end(), part.keys.begin(), part.keys.end());
      gradients.insert(gradients.end(), part.in.begin(), part.in.end());
    }
    sum.kind = OpKind::kUpdate;
    sum.parts[0] = {.table = sum.parts[0].table, .keys = keys, .in = gradients};
    const Outcome outcome = SubmitAndWait(*inner_, std::move(sum));
    ++closed_;
    for (const auto& [rank, update] : waiting_) update.done(WithRows(update.operation, outcome));
    waiting_.clear();
    changed_.NotifyAll();
  }

  // Of an update-lookup also the rows of the next step.
  Outcome WithRows(const Operation& operation, const Outcome& updated) {
    if (operation.kind != OpKind::kUpdateLookup || !updated.status.ok()) return updated;
    Operation lookup{.kind = OpKind::kLookup, .parts = {}, .exec = {}, .sync = {}};
    const TablePart& part = operation.parts[0];
    lookup.parts.push_back({.table = part.table, .keys = part.then, .out = part.out});
    return SubmitAndWait(*inner_, std::move(lookup));
  }

  std::unique_ptr<TableStore> own_;
  TableStore* inner_;
  Mutex mutex_;
  CondVar changed_;
  uint32_t group_ STRATA_GUARDED_BY(mutex_) = 0;
  uint64_t closed_ STRATA_GUARDED_BY(mutex_) = 0;
  std::map<uint16_t, Update> waiting_ STRATA_GUARDED_BY(mutex_);
};

}  // namespace strata
