#include "ps/service/lane_thread.h"

#include <algorithm>
#include <chrono>
#include <future>
#include <optional>
#include <utility>

#include "base/human_text.h"
#include "base/log.h"
#include "base/out_of_memory.h"
#include "base/thread/thread.h"
#include "base/thread/while_waiting.h"
#include "ps/service/lane_recovery.h"

namespace strata {
namespace {

constexpr size_t kRoundBytes = size_t{4} << 20;  // one write of the log for so much, or for
constexpr TimeNs kRoundTime = kMillisecond;      // so long
constexpr size_t kArrivedBytesLeast = wire::kMessageBytesMax;
constexpr TimeNs kTickRest = kMillisecond / 10;  // between ticks,
constexpr TimeNs kBusyFor = 10 * kMillisecond;   // for so long behind a request
constexpr TimeNs kLookEvery = 2 * kMillisecond;  // for messages, while recovering or busy
constexpr size_t kBusyAnswersMax = 64;           // a look: a flood of PINGs does not stop the work
constexpr TimeNs kProgressEvery = 5 * kSecond;   // a line
// That changes are made whole with where memory has run out; one for all lanes.
constexpr size_t kReserveBytes = size_t{64} << 20;

}  // namespace

LaneThread::LaneThread(std::unique_ptr<MessagePort> port, LaneConfig config, LaneMetrics& metrics,
                       const Clock& clock, std::optional<Storage> storage)
    : port_(std::move(port)),
      background_([this] { port_->Wake(); }),
      searcher_([this] { port_->Wake(); }),
      lane_(WithBackground(std::move(config)), metrics),
      metrics_(metrics),
      clock_(clock),
      storage_(std::move(storage)),
      arrived_(std::max(lane_.config().queue_bytes_max, kArrivedBytesLeast)) {
  STRATA_CHECK(storage_.has_value() == lane_.recovering());
}

LaneThread::~LaneThread() {
  Stop();
  Join();
}

LaneConfig LaneThread::WithBackground(LaneConfig config) {
  config.say = [this](LogLevel level, const std::string& line) {
    Log(level, "{}: {}", name_, line);
  };
  config.reaches = [this](Envelope envelope) {
    return port_->Send(std::move(envelope)).code() != StatusCode::kLost;
  };
  if (config.checkpoints || config.durable || config.collections) {
    config.background = [this](std::function<void()> work) { background_.Run(std::move(work)); };
  }
  if (config.collections) {
    config.collections->searcher = [this](std::function<void()> work) {
      searcher_.Run(std::move(work));
    };
    if (config.collections->copies != nullptr) {
      config.collections->follower =
          [this, copies = config.collections->copies](std::function<void()> work) {
            copies->Run([this, work = std::move(work)] {
              work();
              port_->Wake();
            });
          };
    }
  }
  return config;
}

Status LaneThread::Start(const std::string& name) {
  name_ = name;
  if (lane_.config().background) STRATA_TRY(background_.Start(name + "-files"));
  if (lane_.config().collections) {
    STRATA_TRY(searcher_.Start(name + "-search", ThreadPriority::kNormal));
  }
  STRATA_ASSIGN(thread_, StartThread(name, [this] { Run(); }));
  return {};
}

void LaneThread::Post(Work work) {
  {
    const MutexLock lock(mutex_);
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

void LaneThread::Drain(DrainReason reason) {
  draining_ = true;
  Post([reason](Lane& lane, std::vector<Envelope>* out) { lane.Drain(reason, out); });
}

template <typename T>
Result<T> LaneThread::Call(std::function<T(Lane&)> work, TimeNs timeout) {
  auto promise = std::make_shared<std::promise<T>>();
  std::future<T> result = promise->get_future();
  Post([promise, work = std::move(work)](Lane& lane, std::vector<Envelope>*) {
    promise->set_value(work(lane));
  });
  if (result.wait_for(std::chrono::nanoseconds(timeout)) != std::future_status::ready) {
    return DeadlineExceeded("the lane's thread is busy");
  }
  return result.get();
}

Result<LaneReport> LaneThread::Report(TimeNs timeout) {
  return Call<LaneReport>([](Lane& lane) { return lane.Report(); }, timeout);
}

Result<std::vector<LaneClient>> LaneThread::Clients(TimeNs timeout) {
  return Call<std::vector<LaneClient>>([this](Lane& lane) { return lane.Clients(clock_.Now()); },
                                       timeout);
}

Status LaneThread::Evict(const ClientId& client, TimeNs timeout) {
  struct Evicted {
    Status status;
  };
  const Result<Evicted> evicted =
      Call<Evicted>([client](Lane& lane) { return Evicted{lane.Evict(client)}; }, timeout);
  return evicted.ok() ? evicted->status : evicted.status();
}

void LaneThread::Run() {
  Status recovered;
  const WhileWaiting while_waiting([this] { AnswerWhileBusy(); });
  KeepReserve(kReserveBytes);
  if (storage_) recovered = OrOutOfMemory("the lane's state", [this] { return Recover(); });
  const bool serves = recovered.ok();
  recovered_.set_value(std::move(recovered));
  if (!serves) return;
  std::vector<Envelope> out;
  while (!stopping_) {
    RunPosted(&out);
    ReceiveArrived(out.empty() && arrived_.empty() ? NextTick() : 0, &out);
    HandleRound(&out);
    if (const TimeNs now = clock_.Now(); now >= NextTick()) {
      lane_.Tick(now, &out);
      last_tick_ = now;
      if (!HasReserve()) KeepReserve(kReserveBytes);
      NoteDrained();
    }
    if (!CommitAndSend(&out)) return;
  }
  FinishArrived(&out);
}

// What a tick does (the rows of a checkpoint, above all) rests between requests: it would keep the
// processor from the threads that bring them, and so would those that write what it hands on.
TimeNs LaneThread::NextTick() const {
  const TimeNs next = lane_.NextTick();
  return last_tick_ - last_round_ < kBusyFor ? std::max(next, last_tick_ + kTickRest) : next;
}

// Meanwhile whoever asks is told how far it is.
Status LaneThread::Recover() {
  const TimeNs begin = clock_.Now();
  TimeNs next_look = begin;
  TimeNs next_line = begin + kProgressEvery;
  std::vector<Envelope> out;
  const auto between = [&](bool waiting) -> Status {
    const TimeNs now = clock_.Now();
    if (now < next_look && !waiting) return {};
    next_look = now + kLookEvery;
    RunPosted(&out);
    ReceiveArrived(waiting ? next_look : 0, &out);
    HandleRound(&out);
    Send(&out);
    PublishRoom();
    if (now >= next_line) {
      next_line = now + kProgressEvery;
      const Recovery recovery = *lane_.Report().recovery;
      const double left = static_cast<double>(now - begin) / kSecond *
                          static_cast<double>(recovery.bytes_total - recovery.bytes_done) /
                          static_cast<double>(std::max<uint64_t>(recovery.bytes_done, 1));
      Log(LogLevel::kInfo, "{}: {}{}", name_, recovery.Text(),
          recovery.bytes_done == 0 ? "" : fmt::format(", ETA {}", HumanSeconds(left)));
    }
    if (stopping_) return Cancelled("the server was asked to end while it recovered");
    return {};
  };
  STRATA_ASSIGN(const ReplaySummary summary, RecoverLane(lane_, storage_->log, clock_, between));
  const double seconds = static_cast<double>(clock_.Now() - begin) / kSecond;
  metrics_.recovery_seconds.Set(seconds);
  if (summary.records > 0 || lane_.Report().log_base != 0) {
    Log(LogLevel::kInfo, "{}: recovered {} of {} in {:.3f} s", name_,
        Counted(summary.records, "record"), HumanBytes(summary.bytes), seconds);
  }
  if (summary.torn) {
    metrics_.torn_bytes.Set(summary.torn->bytes);
    Log(LogLevel::kWarning, "{}: {}: the last {} bytes, from offset {}, were cut: {}", name_,
        summary.torn->file, summary.torn->bytes, summary.torn->offset, summary.torn->reason);
  }
  return StartSyncer();
}

Status LaneThread::StartSyncer() {
  syncer_ = std::make_unique<LogSyncer>(
      *lane_.log(), clock_, metrics_.log_sync_seconds,
      LogSyncer::Events{.synced = [this] { port_->Wake(); },
                        .failed = [this](const Status& status) { Fail(status); }});
  return syncer_->Start(name_ + "-sync");
}

// In the middle of a request that takes long: what comes is taken in, so that its deadline counts
// from now on, and PINGs are answered, so that no client takes the server for lost.
void LaneThread::AnswerWhileBusy() noexcept {
  const TimeNs now = clock_.Now();
  if (now < next_busy_look_) return;
  next_busy_look_ = now + kLookEvery;
  const MustAllocate must;  // the outer request may fail for want of memory, this may not
  std::vector<Envelope> out;
  ReceiveArrived(0, &out);
  for (size_t answers = 0; answers < kBusyAnswersMax; ++answers) {
    std::optional<ArrivedQueue::Arrived> next = arrived_.NextForBusyLane(lane_.cut());
    if (!next) break;
    lane_.AnswerWhileBusy(std::move(next->envelope), next->time, now, &out);
  }
  Send(&out);
}

void LaneThread::RunPosted(std::vector<Envelope>* out) {
  if (has_posted_.exchange(false)) {
    std::vector<Work> work;
    {
      const MutexLock lock(mutex_);
      work.swap(posted_);
    }
    for (const Work& one : work) one(lane_, out);
  }
  NoteDrained();
}

// On the lane's own word: draining_ is set before the lane has heard of it.
void LaneThread::NoteDrained() { drained_ = lane_.draining() && lane_.Idle(); }

void LaneThread::PublishRoom() {
  const Status& room = lane_.no_room();
  if (room.ok() != disk_full_) return;
  disk_full_ = !room.ok();
  metrics_.disk_full.Set(disk_full_ ? 1 : 0);
  if (disk_full_) {
    Log(LogLevel::kWarning, "{}: writes are refused until there is room: {}", name_,
        room.message());
  } else {
    Log(LogLevel::kInfo, "{}: there is room again: writes are taken", name_);
  }
}

// The bytes of the message that came; 0: none did.
size_t LaneThread::ReceiveOne(TimeNs deadline, std::vector<Envelope>* out) {
  const MustAllocate must;  // half a message would be taken for the next one
  Result<std::optional<Envelope>> in = port_->Receive(deadline);
  if (!in.ok()) {
    Log(LogLevel::kError, "{}: {}", name_, in.status().ToString());
    return 0;
  }
  if (!in->has_value()) return 0;
  Envelope envelope = std::move(**in);
  const size_t bytes = MessageBytes(envelope.message) + ArrivedQueue::kLeastCost;
  const TimeNs now = clock_.Now();
  if (const Status taken = arrived_.Add(&envelope, now); !taken.ok()) {
    lane_.Refuse(envelope, taken, now, out);
  }
  return bytes;
}

// Takes in what has come, so that its deadline counts from now on; waits for the first until
// `deadline`. It goes on however much waits: behind one client's messages are those of others.
void LaneThread::ReceiveArrived(TimeNs deadline, std::vector<Envelope>* out) {
  size_t received = ReceiveOne(deadline, out);
  for (size_t bytes = received; bytes != 0 && received < kRoundBytes; received += bytes) {
    bytes = ReceiveOne(0, out);
  }
}

// A round: what is handled before the log is written and replies leave. True: there was something.
bool LaneThread::HandleRound(std::vector<Envelope>* out) {
  if (arrived_.empty()) return false;
  const TimeNs end = clock_.Now() + kRoundTime;
  size_t bytes = 0;
  TimeNs now = 0;
  do {
    ArrivedQueue::Arrived next = arrived_.Next();
    bytes += MessageBytes(next.envelope.message);
    const TimeNs begin = clock_.Now();
    const std::optional<wire::Command> command =
        lane_.Handle(std::move(next.envelope), next.time, begin, out);
    now = clock_.Now();
    if (command) metrics_.SecondsOf(*command).Observe(now - begin);
  } while (!arrived_.empty() && bytes < kRoundBytes && now < end);
  last_round_ = now;
  NoteDrained();
  return true;
}

bool LaneThread::CommitAndSend(std::vector<Envelope>* out) {
  if (const Status status = lane_.Commit(out); !status.ok()) {
    Fail(status);
    return false;
  }
  if (failed_) return false;
  PublishRoom();
  if (syncer_ != nullptr) syncer_->Note(lane_.log()->written(), lane_.WaitsForSync());
  Send(out);
  NoteDrained();
  return true;
}

void LaneThread::Fail(const Status& status) {
  if (failed_.exchange(true)) return;
  Log(LogLevel::kError,
      "{}: the log failed, so nothing can be promised any more; the process ends: {}", name_,
      status.ToString());
  storage_->on_failure(status);
  Stop();
}

void LaneThread::Send(std::vector<Envelope>* out) {
  for (Envelope& envelope : *out) {
    metrics_.sent_bytes.Add(MessageBytes(envelope.message));
    const std::string peer = envelope.peer;
    const Status sent = port_->Send(std::move(envelope));
    if (sent.ok()) continue;
    // The client asks again for a reply that it misses. One that is gone has no use for others.
    metrics_.undelivered.Add();
    if (sent.code() == StatusCode::kLost) metrics_.dropped.Add(arrived_.Drop(peer));
  }
  out->clear();
}

void LaneThread::FinishArrived(std::vector<Envelope>* out) {
  const TimeNs end = clock_.Now() + kSecond;
  do {
    ReceiveArrived(0, out);
    if (!HandleRound(out)) break;
    if (!CommitAndSend(out)) return;
  } while (clock_.Now() < end);
  RunPosted(out);
  lane_.EndAll(out);
  if (!CommitAndSend(out) || syncer_ == nullptr) return;
  syncer_->Stop();
  if (failed_) return;
  if (const Status status = lane_.log()->Sync(); !status.ok()) return Fail(status);
  CommitAndSend(out);
}

}  // namespace strata
