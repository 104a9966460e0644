// One client of a soak: pushes, assigns and erases without end through a RemoteStore, and writes
// down what it submits and what it is told.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/thread/mutex.h"
#include "ps/client/remote_store.h"
#include "tests/soak/client_page.h"
#include "tests/soak/history.h"
#include "tests/soak/load.h"

namespace strata::soak {

struct SoakClientOptions {
  std::vector<std::string> servers;
  uint64_t cluster_id = 0;
  uint32_t client = 0;
  uint32_t session = 1;   // of its first connection
  uint64_t first_op = 0;  // the operation that it begins with
  size_t window = 4;      // operations under way
  bool synced = true;     // ask for ack level synced now and then
  std::string history;    // files
  std::string page;
};

class SoakClient {
 public:
  SoakClient(SoakClientOptions options, const Load* load);
  // Until the page says stop.
  void Run();

 private:
  struct Flight;

  bool Connect();
  void SubmitNext();
  void Settle(RemoteStore& store, const std::shared_ptr<Flight>& flight, const Outcome& outcome);
  void CheckSeen(RemoteStore& store, const std::shared_ptr<Flight>& flight);
  void Landed();
  void Wait();

  const SoakClientOptions options_;
  const Load* load_;
  HistoryWriter history_;
  SharedPage page_;
  uint64_t next_op_;
  uint32_t session_;
  Mutex mutex_;
  CondVar changed_;
  size_t under_way_ STRATA_GUARDED_BY(mutex_) = 0;
  bool broken_ STRATA_GUARDED_BY(mutex_) = false;     // this connection will do nothing any more
  bool held_back_ STRATA_GUARDED_BY(mutex_) = false;  // something was refused; try again later
  std::unique_ptr<RemoteStore> store_;                // last: its thread uses the others
};

}  // namespace strata::soak
