#include "tests/soak/links/links_soak.h"

#include <fmt/format.h>

#include <csignal>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/print.h"
#include "base/random.h"
#include "cluster/topology/peers.h"
#include "tests/cluster/certificates.h"
#include "tests/soak/links/fault.h"
#include "tests/soak/links/fault_times.h"
#include "tests/soak/links/link_proxy.h"
#include "tests/soak/links/rank_processes.h"
#include "tests/soak/links/strangers.h"
#include "tests/soak/moments.h"

namespace strata::soak {
namespace {

constexpr int kRanksMin = 3;
constexpr TimeNs kDeadBound = 2 * kSecond;
// Two heartbeats, where no message shows that ranks disagree, and the way to all others.
constexpr TimeNs kDisagreeBound = 3 * kSecond;
constexpr TimeNs kSilencePromised = 10 * kSecond;
// What does not shrink with a shorter silence: a busy machine's delays.
constexpr TimeNs kShortSilenceMargin = kSecond;
constexpr int kBeatsPerSilence = 10;
constexpr TimeNs kLinkUpMax = 60 * kSecond;
constexpr TimeNs kHang = 10 * kSecond;  // behind the bound
constexpr TimeNs kMomentMax = 100 * kMillisecond;
constexpr int kHalfOpenConnections = 1000;
constexpr uint64_t kProgressEvery = 50;

// What carries the data of a group.
enum class Carrier : uint8_t { kSockets, kMemory, kTls };
constexpr const char* kCarrierNames[] = {"sockets", "memory", "TLS"};
constexpr uint64_t kCarriers = std::size(kCarrierNames);

// One group and its fault.
class Cycle {
 public:
  Cycle(const LinksSoakOptions& options, uint64_t number)
      : options_(options),
        round_(number / std::size(kFaults)),
        fault_(kFaults[number % std::size(kFaults)]),
        carrier_(static_cast<Carrier>((round_ + round_ / 10) % kCarriers)),
        seed_(options.seed * 1'000'000 + number),
        random_(seed_),
        board_(MakeSharedBoard()),
        ranks_(kRanksMin + static_cast<int>(random_.Below(kRanksMax - kRanksMin + 1)),
               board_.get()) {}

  void Run(FaultTimes* times, SoakReport* report) {
    verdict_.fault = fault_;
    board_->rebuilds = LosesARank(fault_);
    if (IsSilent(fault_)) {
      const bool promised = round_ % 10 == 9;
      silence_ = promised ? kSilencePromised : options_.silence;
      verdict_.bound = silence_ + (promised ? 0 : kShortSilenceMargin);
    } else {
      verdict_.bound = IsDisagreement(fault_) ? kDisagreeBound : kDeadBound;
    }
    verdict_.bound += options_.slack;
    Start();
    if (AtWork()) {
      const TimeNs moment = RandomTime(random_, kMomentMax);
      Pass(moment);
      Inflict();
      Finish();
    }
    Tell(times, report);
  }

 private:
  std::shared_ptr<const TlsContext> Tls() const {
    return carrier_ == Carrier::kTls ? TestTls() : nullptr;
  }

  int RandomRank(int first = 0) {
    return first + static_cast<int>(random_.Below(static_cast<uint64_t>(ranks_.world() - first)));
  }

  void Start() {
    const bool shared_memory = carrier_ == Carrier::kMemory;
    victim_ = RandomRank();
    if (fault_ == Fault::kCut || fault_ == Fault::kReset) {
      dialler_ = RandomRank(1);
      std::vector<int> below;
      for (const int peer : CirculantPeers(ranks_.world(), dialler_)) {
        if (peer < dialler_) below.push_back(peer);
      }
      victim_ = below[random_.Below(below.size())];
      proxy_ = std::make_unique<LinkProxy>(ranks_.port(victim_));
      // Unused data connections would not be missed.
      broken_ = shared_memory || fault_ == Fault::kCut
                    ? ~0U
                    : 1 + static_cast<uint32_t>(random_.Below(3));
    }
    ranks_.Start(seed_, [&](int rank, LinkOptions* mine) {
      mine->shared_memory = shared_memory;
      mine->tls = Tls();
      if (IsSilent(fault_)) {
        mine->peer_lost_after = silence_;
        mine->heartbeat_every = silence_ / kBeatsPerSilence;
      }
      if (proxy_ != nullptr && rank == dialler_) {
        mine->workers[static_cast<size_t>(victim_)].port = proxy_->port();
      }
    });
    text_ = fmt::format("{} ranks, {}, {}", ranks_.world(),
                        kCarrierNames[static_cast<size_t>(carrier_)], FaultName(fault_));
    if (proxy_ != nullptr) {
      text_ += fmt::format(" between {} and {}", victim_, dialler_);
      proxy_->Start();
    } else if (!IsHarmless(fault_)) {
      text_ += fmt::format(" of rank {}", victim_);
    }
  }

  // Until all ranks are; what comes while they link up comes before.
  bool AtWork() {
    if (fault_ == Fault::kHalfOpen) {
      half_open_ = HalfOpenConnections(ranks_.port(RandomRank()), kHalfOpenConnections);
    } else if (fault_ == Fault::kStranger && random_.Chance(0.5)) {
      Receive(kStrangers[random_.Below(std::size(kStrangers) - 1)]);
    }
    if (ranks_.AwaitAllAtWork(kLinkUpMax)) return true;
    std::string said;
    for (int rank = 0; rank < ranks_.world(); ++rank) {
      const RankWords& words = board_->ranks[static_cast<size_t>(rank)];
      said += fmt::format("; rank {}: {} calls, {}", rank, words.calls.load(),
                          words.ended ? words.Message() : "has not ended");
    }
    wrong_.push_back("the group has not come to work" + said);
    return false;
  }

  void Receive(Stranger stranger) {
    text_ += fmt::format(", {}", StrangerName(stranger));
    LinkOptions options = ranks_.Options(RandomRank(1));
    options.tls = Tls();
    const std::string wrong = Visit(stranger, std::move(options), &random_);
    if (!wrong.empty()) wrong_.push_back(wrong);
  }

  void Inflict() {
    RankWords& words = board_->ranks[static_cast<size_t>(victim_)];
    if (!IsHarmless(fault_)) verdict_.culprits = {victim_};
    if (!IsDisagreement(fault_) && !IsHarmless(fault_)) {
      board_->fault_at = RealClock().Now();
    }
    switch (fault_) {
      case Fault::kKill:
        ranks_.Signal(victim_, SIGKILL);
        break;
      case Fault::kStop:
        ranks_.Signal(victim_, SIGSTOP);
        break;
      case Fault::kCut:
        verdict_.culprits.insert(dialler_);
        proxy_->Break(
            random_.Chance(0.5) ? LinkProxy::State::kStopped : LinkProxy::State::kSwallows,
            broken_);
        break;
      case Fault::kReset:
        verdict_.culprits.insert(dialler_);
        proxy_->Break(LinkProxy::State::kReset, broken_);
        break;
      case Fault::kOtherOperation:
        words.misstep = Misstep::kOtherOperation;
        break;
      case Fault::kOtherSize:
        words.misstep = Misstep::kOtherSize;
        break;
      case Fault::kStranger:
        Receive(kStrangers[random_.Below(std::size(kStrangers))]);
        [[fallthrough]];
      case Fault::kHalfOpen:
        board_->stop = true;
        break;
    }
  }

  // The survivors are at work as a smaller group. One that was stopped then finds itself alone.
  bool GoOn() {
    bool gone_on = ranks_.AwaitAllRebuilt(victim_, verdict_.bound + kHang);
    ranks_.Signal(victim_, SIGCONT);
    gone_on = ranks_.AwaitEndOf(victim_, kDeadBound + options_.slack + kHang) && gone_on;
    board_->stop = true;
    return gone_on;
  }

  void Finish() {
    const bool stopped = fault_ == Fault::kStop;
    if (LosesARank(fault_) && !GoOn()) hang_ = true;
    if (!ranks_.AwaitEnd(verdict_.bound + kHang)) hang_ = true;
    for (int rank = 0; rank < ranks_.world(); ++rank) {
      if (fault_ == Fault::kKill && rank == victim_) continue;
      const RankWords& words = board_->ranks[static_cast<size_t>(rank)];
      const std::string crash = ranks_.Crash(rank);
      std::string wrong = crash;
      if (crash.empty()) {
        if (LosesARank(fault_)) wrong = JudgeRebuilt(words, rank, victim_, ranks_.world());
        // A rank that was stopped has its own idea of time, and of who is to blame.
        if (!stopped || rank != victim_) {
          if (wrong.empty()) wrong = Judge(verdict_, rank, words, board_->fault_at);
          if (!IsHarmless(fault_)) times_.push_back(words.ended_at - board_->fault_at);
          if (LosesARank(fault_)) rebuild_times_.push_back(words.rebuilt_at - words.ended_at);
        }
      }
      if (wrong.empty()) continue;
      wrong_.push_back(fmt::format("rank {} after {} calls: {}", rank, words.calls.load(), wrong));
    }
  }

  void Tell(FaultTimes* times, SoakReport* report) {
    std::string name = FaultName(fault_);
    if (IsSilent(fault_)) name += fmt::format(" ({} s)", silence_ / kSecond);
    times->Add(name, times_);
    if (LosesARank(fault_)) {
      times->Add(fmt::format("rebuilt ({})", FaultName(fault_)), rebuild_times_);
    }
    for (int rank = 0; rank < ranks_.world(); ++rank) {
      report->operations += board_->ranks[static_cast<size_t>(rank)].calls;
    }
    report->hangs += hang_ ? 1 : 0;
    if (wrong_.empty()) return;
    if (!hang_) ++report->findings.wrong;
    PrintStderr("seed {}: {}\n", seed_, text_);
    for (const std::string& wrong : wrong_) PrintStderr("  {}\n", wrong);
  }

  const LinksSoakOptions& options_;
  const uint64_t round_;  // of all kinds of faults
  const Fault fault_;
  const Carrier carrier_;
  const uint64_t seed_;
  Random random_;
  SharedBoard board_;
  RankProcesses ranks_;
  std::unique_ptr<LinkProxy> proxy_;
  std::vector<OwnedFd> half_open_;
  Verdict verdict_;
  TimeNs silence_ = 0;
  int victim_ = 0;
  int dialler_ = 0;      // of the proxy; the victim is at the other end
  uint32_t broken_ = 0;  // which of its connections
  std::string text_;
  bool hang_ = false;
  std::vector<std::string> wrong_;
  std::vector<TimeNs> times_;
  std::vector<TimeNs> rebuild_times_;  // from a rank's error to its next group
};

}  // namespace

SoakReport RunLinksSoak(const LinksSoakOptions& options) {
  const TimeNs began = RealClock().Now();
  SoakReport report;
  report.soak = "links";
  report.seeds = 1;
  FaultTimes times;
  for (uint64_t number = 0; number < options.cycles; ++number) {
    Cycle(options, number).Run(&times, &report);
    if (++report.cycles % kProgressEvery == 0) {
      PrintStderr("{} cycles: {} wrong, {} hangs\n", report.cycles, report.findings.wrong,
                  report.hangs);
    }
  }
  report.acked = report.operations;
  report.elapsed = RealClock().Now() - began;
  PrintStderr("{}", times.Table());
  report.more = ", \"faults\": {" + times.Json() + "}";
  return report;
}

}  // namespace strata::soak
