#include "ps/service/lane_thread.h"

#include <algorithm>
#include <chrono>
#include <future>
#include <optional>
#include <utility>

#include "base/log.h"
#include "base/thread.h"

namespace strata {

LaneThread::LaneThread(std::unique_ptr<MessagePort> port, LaneConfig config, LaneMetrics& metrics,
                       const Clock& clock)
    : port_(std::move(port)), lane_(std::move(config), metrics), metrics_(metrics), clock_(clock) {}

LaneThread::~LaneThread() {
  Stop();
  Join();
}

Status LaneThread::Start(const std::string& name) {
  STRATA_ASSIGN(thread_, StartThread(name, [this] { Run(); }));
  return {};
}

void LaneThread::Post(Work work) {
  {
    const std::lock_guard lock(mutex_);
    posted_.push_back(std::move(work));
    has_posted_ = true;
  }
  port_->Wake();
}

void LaneThread::Stop() {
  stopping_ = true;
  port_->Wake();
}

void LaneThread::Join() {
  if (thread_.joinable()) thread_.join();
}

void LaneThread::Drain() {
  draining_ = true;
  Post([](Lane& lane, std::vector<Envelope>* out) { lane.Drain(out); });
}

Result<LaneReport> LaneThread::Report(TimeNs timeout) {
  auto promise = std::make_shared<std::promise<LaneReport>>();
  std::future<LaneReport> report = promise->get_future();
  Post([promise](Lane& lane, std::vector<Envelope>*) { promise->set_value(lane.Report()); });
  if (report.wait_for(std::chrono::nanoseconds(timeout)) != std::future_status::ready) {
    return DeadlineExceeded("the lane's thread is busy");
  }
  return report.get();
}

void LaneThread::Run() {
  std::vector<Envelope> out;
  while (!stopping_) {
    RunPosted(&out);
    Send(&out);
    HandleNext(lane_.NextTick(), &out);
    if (const TimeNs now = clock_.Now(); now >= lane_.NextTick()) {
      lane_.Tick(now, &out);
      NoteDrained();
    }
    Send(&out);
  }
  FinishArrived(&out);
}

void LaneThread::RunPosted(std::vector<Envelope>* out) {
  if (has_posted_.exchange(false)) {
    std::vector<Work> work;
    {
      const std::lock_guard lock(mutex_);
      work.swap(posted_);
    }
    for (const Work& one : work) one(lane_, out);
  }
  NoteDrained();
}

// On the lane's own word: draining_ is set before the lane has heard of it.
void LaneThread::NoteDrained() { drained_ = lane_.draining() && lane_.Idle(); }

bool LaneThread::HandleNext(TimeNs deadline, std::vector<Envelope>* out) {
  Result<std::optional<Envelope>> in = port_->Receive(deadline);
  if (!in.ok()) {
    Log(LogLevel::kError, "lane: {}", in.status().ToString());
    return false;
  }
  if (!in->has_value()) return false;
  const TimeNs begin = clock_.Now();
  const std::optional<wire::Command> command = lane_.Handle(std::move(**in), begin, out);
  if (command) metrics_.SecondsOf(*command).Observe(clock_.Now() - begin);
  NoteDrained();
  return true;
}

void LaneThread::Send(std::vector<Envelope>* out) {
  for (Envelope& envelope : *out) {
    metrics_.sent_bytes.Add(MessageBytes(envelope.message));
    // The client asks again for a reply that it misses.
    if (!port_->Send(std::move(envelope)).ok()) metrics_.undelivered.Add();
  }
  out->clear();
}

void LaneThread::FinishArrived(std::vector<Envelope>* out) {
  const TimeNs end = clock_.Now() + kSecond;
  while (clock_.Now() < end && HandleNext(clock_.Now(), out)) Send(out);
  RunPosted(out);
  lane_.EndAll(out);
  Send(out);
}

}  // namespace strata
