#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/random.h"
#include "tests/soak/caller_kills.h"
#include "tests/soak/checkpoint_watch.h"
#include "tests/soak/file_watch.h"
#include "tests/soak/moments.h"
#include "tests/soak/soak_cluster.h"
#include "tests/soak/table_calls.h"
#include "tests/support/wait_until.h"

namespace strata::soak {
namespace {

constexpr std::string_view kKinds[] = {"client push", "client checkpoint", "admin push",
                                       "admin checkpoint"};
constexpr uint64_t kVerifyAllEvery = 10;
constexpr TimeNs kLoadMax = 40 * kMillisecond;         // from the last comparison to the kill
constexpr TimeNs kCheckpointsMax = 80 * kMillisecond;  // from their start to the kill
constexpr TimeNs kWritingMax = 8 * kMillisecond;       // from the sight of a folder to the kill
constexpr TimeNs kPutMax = 40 * kMillisecond;          // from its start to the kill
constexpr double kAtCut = 0.4;  // of kills of checkpoints: when the first lane has cut
constexpr double kFull = 0.25;
constexpr double kAimed = 0.7;  // of kills: when it is seen to be under way
constexpr uint32_t kDim = 4;
constexpr Key kRow = 7;

class LoadedKills final : public CallerKills {
 public:
  explicit LoadedKills(const CallerKillsOptions& options)
      : options_(options),
        random_(options.seed),
        cluster_({.seed = options.seed, .patience = options.patience}),
        check_(&cluster_, options.longest) {}

  std::span<const std::string_view> kinds() const override { return kKinds; }

  Status Start() override {
    STRATA_TRY(cluster_.Start());
    STRATA_ASSIGN(store_, ConnectTo(cluster_, "soak rows by hand"));
    STRATA_TRY(store_->CreateTable(by_hand_));
    STRATA_TRY(check_.Admin(PutWords(row_)));
    for (uint32_t client = 0; client < cluster_.options().clients; ++client) {
      cluster_.StartClient(client);
    }
    return cluster_.AwaitProgress();
  }

  Result<bool> Cycle(std::string_view kind) override {
    Pass(RandomTime(random_, kLoadMax));
    STRATA_TRY(cluster_.CheckAlive());
    STRATA_ASSIGN(const bool midway, Kill(kind));
    STRATA_TRY(cluster_.AwaitProgress());
    STRATA_TRY(cluster_.Pause());
    const bool all = ++cycles_ % kVerifyAllEvery == 0;
    STRATA_TRY(cluster_.Verify(all, &options_.report->findings));
    STRATA_TRY(check_.Run());
    cluster_.Resume();
    return midway;
  }

  void Finish(SoakReport* report) override {
    cluster_.ReadHistories();
    const Oracle& oracle = cluster_.oracle();
    report->operations += oracle.submitted();
    report->acked += oracle.acked();
    // One session for each process of a client. A client that was killed before it came to connect
    // has none, so that losses could hide behind it; those kills are far rarer than a loss that
    // repeats.
    const uint64_t expected = cluster_.options().clients + clients_killed_;
    report->sessions_lost += oracle.sessions() - std::min(expected, oracle.sessions());
  }

 private:
  Result<bool> Kill(std::string_view kind) {
    if (kind == "client push") return KillClient();
    if (kind == "admin push") return KillPut();
    return KillCheckpoint(kind == "admin checkpoint");
  }

  // In the middle: its cut is in a log, or its folder is there without a manifest.
  Result<bool> KillCheckpoint(bool by_admin) {
    const uint32_t before = FindNewest(cluster_.CheckpointsFolder()).begun;
    const bool at_cut = random_.Chance(kAtCut);
    if (at_cut) STRATA_TRY(cluster_.Pause());
    FileWatch logs(FileEvent::kWritten);
    AddLogs(&logs);
    std::optional<Process> admin;
    if (by_admin) {
      std::vector<std::string> words = {"checkpoint"};
      if (random_.Chance(kFull)) words.push_back("--full");
      admin.emplace(check_.StartAdmin(std::move(words)));
    } else {
      cluster_.StartCheckpoints();
    }
    const bool cut = at_cut && logs.Wait(".log", kSightMax);
    if (!at_cut) PassUntilCheckpoint(before);
    if (by_admin) {
      admin->Signal(SIGKILL);
      STRATA_ASSIGN(const ProcessEnd end,
                    check_.AwaitEnd(*admin, "a killed process", RealClock().Now()));
      if (end.signal == 0 && end.code != 0) return Ended("strata-admin checkpoint", *admin);
    } else {
      cluster_.KillCheckpoints();
    }
    const NewestCheckpoints newest = FindNewest(cluster_.CheckpointsFolder());
    if (at_cut) cluster_.Resume();
    return (cut && newest.whole <= before) || newest.begun > std::max(before, newest.whole);
  }

  // While the clients are quiet, they show what others write.
  void AddLogs(FileWatch* logs) const {
    for (uint32_t rank = 0; rank < cluster_.options().servers; ++rank) {
      for (uint32_t lane = 0; lane < cluster_.options().lanes; ++lane) {
        logs->Add(fmt::format("{}/lane-{}", cluster_.DataFolder(rank), lane));
      }
    }
  }

  // Until one has been begun, or just some time.
  void PassUntilCheckpoint(uint32_t before) {
    if (!random_.Chance(kAimed)) return Pass(RandomTime(random_, kCheckpointsMax));
    WaitUntil([&] { return FindNewest(cluster_.CheckpointsFolder()).begun > before; }, kSightMax);
    Pass(RandomTime(random_, kWritingMax));
  }

  // In the middle: some operation's outcome was not known to it.
  Result<bool> KillClient() {
    const auto client = static_cast<uint32_t>(random_.Below(cluster_.options().clients));
    cluster_.KillClient(client);
    cluster_.ReadHistories();
    const bool midway = cluster_.oracle().open(client) > 0;
    cluster_.StartClient(client);
    ++clients_killed_;
    return midway;
  }

  static std::vector<std::string> PutWords(float value) {
    std::vector<std::string> words = {"put", "by-hand", fmt::to_string(kRow)};
    words.resize(words.size() + kDim, fmt::to_string(value));
    return words;
  }

  Status ExpectRow(float one, float other, float* found) {
    const Key key[] = {kRow};
    STRATA_ASSIGN(const std::vector<float> row, PullRows(*store_, by_hand_, key));
    *found = row[0];
    const bool same = std::count(row.begin(), row.end(), row[0]) == kDim;
    if (same && (row[0] == one || row[0] == other)) return {};
    return Failed(fmt::format("a row put by hand holds {}, expected {} times {} or {}",
                              fmt::join(row, " "), kDim, one, other));
  }

  // The row is the old one or the new one. In the middle: the new one, and it was not told.
  Result<bool> KillPut() {
    STRATA_TRY(cluster_.Pause());
    FileWatch logs(FileEvent::kWritten);
    AddLogs(&logs);
    const float before = row_;
    const float put = ++row_;
    Process admin = check_.StartAdmin(PutWords(put));
    if (random_.Chance(kAimed)) {
      logs.Wait(".log", kSightMax);
    } else {
      Pass(RandomTime(random_, kPutMax));
    }
    admin.Signal(SIGKILL);
    STRATA_ASSIGN(const ProcessEnd end,
                  check_.AwaitEnd(admin, "a killed process", RealClock().Now()));
    const bool killed = end.signal != 0;
    if (!killed && end.code != 0) return Ended("strata-admin put", admin);
    float found = 0;
    STRATA_TRY(ExpectRow(killed ? before : put, put, &found));
    const bool midway = killed && found == put;
    STRATA_TRY(check_.Admin(PutWords(++row_)));
    STRATA_TRY(ExpectRow(row_, row_, &found));
    cluster_.Resume();
    return midway;
  }

  const CallerKillsOptions options_;
  Random random_;
  SoakCluster cluster_;
  ServiceCheck check_;
  const TableSpec by_hand_ = SumTable("by-hand", kDim);
  std::unique_ptr<RemoteStore> store_;
  float row_ = 1;  // what the row put by hand holds
  uint64_t cycles_ = 0;
  uint64_t clients_killed_ = 0;
};

}  // namespace

std::unique_ptr<CallerKills> MakeLoadedKills(const CallerKillsOptions& options) {
  return std::make_unique<LoadedKills>(options);
}

}  // namespace strata::soak
