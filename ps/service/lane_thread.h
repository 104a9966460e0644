// LaneThread: a lane with its own thread and its own ZeroMQ port. Everything that touches the lane
// happens on that thread; other threads post work to it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/message_port.h"
#include "base/status.h"
#include "ps/shard/lane.h"
#include "ps/shard/lane_metrics.h"

namespace strata {

// All members may be called from any thread.
class LaneThread {
 public:
  // Runs on the lane's thread, between two messages; what it appends is sent.
  using Work = std::function<void(Lane&, std::vector<Envelope>* out)>;

  // `metrics` and `clock` outlive it.
  LaneThread(std::unique_ptr<MessagePort> port, LaneConfig config, LaneMetrics& metrics,
             const Clock& clock);
  ~LaneThread();  // Stop and Join

  Status Start(const std::string& name);
  void Post(Work work);
  // What has arrived is still handled, within a second; what waits for a step is answered with an
  // error. Idempotent.
  void Stop();
  void Join();

  // From now on the lane refuses new writes.
  void Drain();
  bool draining() const { return draining_.load(); }
  // The lane drains and nothing waits in it.
  bool drained() const { return drained_.load(); }
  // The lane's report, or kDeadlineExceeded when its thread is too busy to give one in time.
  Result<LaneReport> Report(TimeNs timeout);

 private:
  void Run();
  void RunPosted(std::vector<Envelope>* out);
  void NoteDrained();
  bool HandleNext(TimeNs deadline, std::vector<Envelope>* out);
  void Send(std::vector<Envelope>* out);
  void FinishArrived(std::vector<Envelope>* out);

  const std::unique_ptr<MessagePort> port_;
  Lane lane_;
  LaneMetrics& metrics_;
  const Clock& clock_;
  std::mutex mutex_;
  std::vector<Work> posted_;  // guarded by mutex_
  std::atomic<bool> has_posted_{false};
  std::atomic<bool> stopping_{false};
  std::atomic<bool> draining_{false};
  std::atomic<bool> drained_{false};
  std::jthread thread_;
};

}  // namespace strata
