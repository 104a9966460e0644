// ControlService: answers CONTROL requests (protobuf of proto/control) on a thread of its own, so
// that no lane waits for them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/thread/mutex.h"
#include "ps/service/lane_thread.h"
#include "ps/shard/lane_state.h"
#include "strata/status.h"

namespace strata {

namespace control {
class ClientStatus;
}

// What does not change while the server lives.
struct ServerIdentity {
  uint16_t rank = 0;
  std::string address;  // "127.0.0.1:7600"
  std::string http;     // "http://127.0.0.1:9464", "" when off
  std::string version;
  std::string data;    // the data folder; "": memory only
  std::string device;  // where hot rows lie: "cpu", "cuda:0,1"
  uint64_t incarnation = 0;
  uint32_t shards = 0;
  TimeNs started = 0;
};

// The state of a server as other threads see it.
struct ServerTotals {
  std::vector<LaneReport::Table> tables;                          // over all lanes, sorted by name
  std::map<std::string, wire::CollectionStatsReply> collections;  // over all lanes
  uint64_t rows = 0;
  uint64_t cold_rows = 0;
  uint64_t rejected_rows = 0;  // also of tables that are gone, like the next ones
  uint64_t not_admitted_keys = 0;
  std::map<std::string, uint64_t> passed_down;  // batches by table
  uint64_t table_bytes = 0;
  uint64_t parked_bytes = 0;
  uint64_t clients = 0;  // of the lane that has most: each client writes to nearly all lanes
  uint64_t pulled_keys = 0;
  uint64_t pushed_keys = 0;
  uint64_t requests = 0;
  uint64_t memory_bytes = 0;  // resident, of the whole process
  std::vector<LaneReport> lanes;
};

// A server's lanes, as control and HTTP see them. Thread-safe; the pointers outlive it.
struct LaneSet {
  std::vector<LaneThread*> threads;
  std::vector<LaneMetrics*> metrics;
  // Why no write is taken any more, as the data folder is gone or another; "" while it is there.
  std::function<std::string()> data_lost = [] { return std::string(); };

  // kDeadlineExceeded when a lane does not report in time.
  Result<ServerTotals> Totals(TimeNs timeout) const;
  void Drain(DrainReason reason) const;
  bool AnyDraining() const;
  bool AllDrained() const;
  bool AnyDiskFull() const;
};

// Submit may be called from any thread.
class ControlService {
 public:
  struct Options {
    TimeNs drain_timeout = 10 * kSecond;  // of a request that states none
    std::function<void()> on_shutdown;    // once a shutdown request has been answered
    std::string standing_warning;         // logged every minute, unless empty
    const Clock* clock = &RealClock();
  };
  // `lanes.threads[0]` sends the replies.
  ControlService(ServerIdentity identity, LaneSet lanes, Options options);
  ~ControlService();  // Stop and Join

  Status Start();
  void Submit(Request request);
  void Stop();
  void Join();

 private:
  // A drain or shutdown under way.
  struct Draining {
    Request request;
    TimeNs deadline = 0;
    bool shutdown = false;
  };

  void Run();
  void Handle(Request request);
  void Finish();
  void Warn();
  // Of all lanes, after one of them has been evicted, where that is asked for.
  Result<std::vector<control::ClientStatus>> Clients(const std::string& evict) const;
  void ReplyClients(const Request& request, const std::string& evict);
  void Reply(const Request& request, const Status& status,
             const std::vector<control::ClientStatus>& clients);

  const ServerIdentity identity_;
  const LaneSet lanes_;
  const Options options_;
  Mutex mutex_;
  CondVar changed_;
  std::vector<Request> requests_ STRATA_GUARDED_BY(mutex_);
  bool stopping_ STRATA_GUARDED_BY(mutex_) = false;
  std::vector<Draining> draining_;  // the service's thread only
  TimeNs next_warning_ = 0;         // likewise
  std::jthread thread_;
};

}  // namespace strata
