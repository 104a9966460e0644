// HonestLoad: clients that do what clients do, beside whatever else happens to their server. Each
// knows what its rows must hold, to the last addition, and how long it waited for it.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/thread/mutex.h"
#include "ps/client/remote_store.h"
#include "strata/status.h"

namespace strata::soak {

struct HonestOutcome {
  uint64_t operations = 0;
  uint64_t wrong = 0;                 // rows that hold anything else than what was pushed
  uint64_t refused = 0;               // operations that ended in an error
  std::vector<std::string> examples;  // the first few of both
  std::vector<TimeNs> beside[2];      // times of operations, by the period in which they ended
};

class HonestLoad {
 public:
  enum Period { kHostile = 0, kBulk = 1 };

  // Each client pushes to and pulls from a table of its own, one operation every few milliseconds.
  // Every second one may share memory with the server.
  static Result<std::unique_ptr<HonestLoad>> Start(const RemoteStoreOptions& options,
                                                   size_t clients);
  ~HonestLoad();

  void SetPeriod(Period period) { period_ = period; }
  // Ends the clients.
  HonestOutcome Finish();

 private:
  HonestLoad() = default;
  void Loop(RemoteStore& store, const TableSpec& table);
  void Note(const std::string& problem, uint64_t HonestOutcome::*count);

  std::atomic<int> period_ = kBulk;
  std::atomic<bool> is_stopping_ = false;
  Mutex mutex_;
  HonestOutcome outcome_ STRATA_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<RemoteStore>> stores_;
  std::vector<std::jthread> threads_;
};

}  // namespace strata::soak
