// Pending: one submitted operation whose outcome is waited for later.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "base/thread/mutex.h"
#include "storage/table.h"

namespace strata {

// What the operations of one trainer share: the first failure of any of them ends the wait for all,
// since one that failed may be what another waits for at the servers.
struct PendingGroup {
  Mutex mutex;
  CondVar changed;
  Status failure STRATA_GUARDED_BY(mutex);
};

// Holds on to whatever owns the operation's spans until the store is done with them, and so does
// the operation. So a caller may give up on one at any time without waiting. One thread at a time.
class Pending {
 public:
  explicit Pending(std::shared_ptr<PendingGroup> group = std::make_shared<PendingGroup>())
      : group_(std::move(group)) {}

  void Submit(TableStore& store, Operation operation, std::shared_ptr<const void> owner) {
    outcome_ = std::make_shared<std::optional<Status>>();
    operation.owner = owner;
    store.Submit(std::move(operation),
                 [group = group_, status = outcome_, owner = std::move(owner)](Outcome outcome) {
                   const MutexLock lock(group->mutex);
                   *status = std::move(outcome.status);
                   if (group->failure.ok()) group->failure = **status;
                   group->changed.NotifyAll();
                 });
  }

  // The outcome of what was submitted last, or the failure of another of the group if that comes
  // first; OK when there is nothing to wait for.
  Status Wait() {
    if (outcome_ == nullptr) return {};
    const MutexLock lock(group_->mutex);
    while (!outcome_->has_value() && group_->failure.ok()) group_->changed.Wait(group_->mutex);
    const auto outcome = std::exchange(outcome_, nullptr);
    return outcome->has_value() ? **outcome : group_->failure;
  }

 private:
  std::shared_ptr<PendingGroup> group_;
  std::shared_ptr<std::optional<Status>> outcome_;  // under the group's mutex
};

}  // namespace strata
