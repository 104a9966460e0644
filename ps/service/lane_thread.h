// LaneThread: a lane with its own thread and its own port, and with a log, which it first replays.
// Everything that touches the lane happens on that thread; other threads post work to it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/message_port.h"
#include "base/thread/mutex.h"
#include "ps/service/background.h"
#include "ps/service/lane.h"
#include "ps/service/log_syncer.h"
#include "ps/shard/arrived_queue.h"
#include "ps/shard/lane_metrics.h"
#include "storage/log/log.h"
#include "strata/status.h"

namespace strata {

// All members may be called from any thread.
class LaneThread {
 public:
  // Runs on the lane's thread, between two messages; what it appends is sent.
  using Work = std::function<void(Lane&, std::vector<Envelope>* out)>;

  // What a lane that is durable needs besides.
  struct Storage {
    LogOptions log;
    // The log has failed for good: no reply leaves any more. To end the process; when it returns,
    // the lane's thread ends. Called on the lane's or its syncer's thread.
    std::function<void(const Status&)> on_failure;
  };

  // The lane's background is a thread of this object's own, when the config has checkpoints.
  // `metrics` and `clock` outlive it. Storage: exactly when the config says durable.
  LaneThread(std::unique_ptr<MessagePort> port, LaneConfig config, LaneMetrics& metrics,
             const Clock& clock, std::optional<Storage> storage = std::nullopt);
  ~LaneThread();  // Stop and Join

  Status Start(const std::string& name);
  // After Start: blocks until the lane serves, or has ended with the error of its recovery.
  Status WaitServing() { return serving_.get(); }
  void Post(Work work);
  // What has arrived is still handled, within a second; what waits for a step is answered with an
  // error. Idempotent.
  void Stop();
  void Join();

  // From now on the lane refuses new writes.
  void Drain(DrainReason reason);
  bool draining() const { return draining_.load(); }
  // The lane drains and nothing waits in it.
  bool drained() const { return drained_.load(); }
  // The lane refuses writes, since its log has no room.
  bool disk_full() const { return disk_full_.load(); }
  // The lane's report, or kDeadlineExceeded when its thread is too busy to give one in time.
  Result<LaneReport> Report(TimeNs timeout);
  // Likewise the clients whose writes it remembers.
  Result<std::vector<LaneClient>> Clients(TimeNs timeout);
  // Lane::Evict, or kDeadlineExceeded.
  Status Evict(const ClientId& client, TimeNs timeout);

 private:
  // What `work` returns on the lane's thread, or kDeadlineExceeded.
  template <typename T>
  Result<T> Call(std::function<T(Lane&)> work, TimeNs timeout);

  void Run();
  Status Recover();
  Status StartSyncer();
  void AnswerWhileBusy() noexcept;
  void RunPosted(std::vector<Envelope>* out);
  void NoteDrained();
  void PublishRoom();
  TimeNs NextTick() const;
  size_t ReceiveOne(TimeNs deadline, std::vector<Envelope>* out);
  void ReceiveArrived(TimeNs deadline, std::vector<Envelope>* out);
  bool HandleRound(std::vector<Envelope>* out);
  bool CommitAndSend(std::vector<Envelope>* out);
  void Send(std::vector<Envelope>* out);
  void Fail(const Status& status);
  void FinishArrived(std::vector<Envelope>* out);

  LaneConfig WithBackground(LaneConfig config);

  const std::unique_ptr<MessagePort> port_;
  Background background_;
  Background searcher_;
  Lane lane_;
  LaneMetrics& metrics_;
  const Clock& clock_;
  const std::optional<Storage> storage_;
  std::string name_;
  std::promise<Status> recovered_;
  std::future<Status> serving_ = recovered_.get_future();
  std::unique_ptr<LogSyncer> syncer_;
  ArrivedQueue arrived_;   // received and not handled; the lane's thread only
  TimeNs last_round_ = 0;  // when the last requests had been handled
  TimeNs last_tick_ = 0;
  TimeNs next_busy_look_ = 0;  // for messages that a busy lane answers
  Mutex mutex_;
  std::vector<Work> posted_ STRATA_GUARDED_BY(mutex_);
  std::atomic<bool> has_posted_{false};
  std::atomic<bool> stopping_{false};
  std::atomic<bool> failed_{false};
  std::atomic<bool> draining_{false};
  std::atomic<bool> drained_{false};
  std::atomic<bool> disk_full_{false};
  std::jthread thread_;
};

}  // namespace strata
