#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <memory>
#include <utility>
#include <vector>

#include "base/random.h"
#include "proto/format/checkpoint_manifest.h"
#include "proto/wire/shard_map.h"
#include "tests/soak/caller_kills.h"
#include "tests/soak/checkpoint_watch.h"
#include "tests/soak/file_watch.h"
#include "tests/soak/moments.h"
#include "tests/soak/table_calls.h"

namespace strata::soak {
namespace {

constexpr std::string_view kKinds[] = {"client restore", "admin restore"};
constexpr uint32_t kDim = 16;
constexpr size_t kRows = 20'000;
constexpr uint32_t kBelow = 128;                   // of what makes rows of one version differ
constexpr double kAimed = 0.7;                     // when it is seen to be under way
constexpr TimeNs kRestoreMax = 60 * kMillisecond;  // from its start to the kill
constexpr TimeNs kReadingMax = 4 * kMillisecond;   // from the sight of it to the kill
constexpr double kKillServer = 0.25;

// Rows have versions: a checkpoint holds one, the tables hold a later one, and a restore that is
// killed leaves each lane with one of the two.
class RestoreKills final : public CallerKills {
 public:
  explicit RestoreKills(const CallerKillsOptions& options)
      : options_(options),
        random_(options.seed),
        servers_({.seed = options.seed, .patience = options.patience}),
        check_(&servers_, options.longest) {
    const std::vector<uint16_t> lanes(servers_.options().servers,
                                      static_cast<uint16_t>(servers_.options().lanes));
    Result<wire::ShardMap> map = wire::MakeShardMap(lanes);
    STRATA_CHECK(map.ok());
    map_ = std::move(*map);
    for (Key key = 0; key < kRows; ++key) keys_.push_back(key);
  }

  std::span<const std::string_view> kinds() const override { return kKinds; }

  Status Start() override {
    STRATA_TRY(servers_.StartServers());
    STRATA_ASSIGN(store_, ConnectTo(servers_, "soak versions"));
    STRATA_TRY(store_->CreateTable(table_));
    STRATA_TRY(WriteAndCheckpoint());
    return Restore();
  }

  Result<bool> Cycle(std::string_view kind) override {
    const uint64_t saved = version_;
    STRATA_TRY(WriteNext());
    STRATA_ASSIGN(const bool killed, KillRestore(kind));
    STRATA_ASSIGN(const size_t restored, LanesOf(saved, version_));
    if (!killed && restored != map_.lanes.size()) {
      return Failed(fmt::format("a restore said it was done, on {} of {} lanes", restored,
                                map_.lanes.size()));
    }
    if (random_.Chance(kKillServer)) STRATA_TRY(RestartServer(saved));
    STRATA_TRY(Restore());
    STRATA_TRY(LanesOf(saved, saved).status().Prefixed("restored again"));
    STRATA_TRY(WriteAndCheckpoint());
    return killed && restored > 0;
  }

  void Finish(SoakReport* /*report*/) override {}

 private:
  // Element e of a key's row; no two versions have one in common.
  static float Value(uint64_t version, Key key, uint32_t e) {
    return static_cast<float>(version * kBelow + (key + e) % kBelow);
  }

  Status WriteNext() {
    ++version_;
    std::vector<float> rows;
    rows.reserve(kRows * kDim);
    for (const Key key : keys_) {
      for (uint32_t e = 0; e < kDim; ++e) rows.push_back(Value(version_, key, e));
    }
    return AssignRows(*store_, table_, keys_, rows);
  }

  Status WriteAndCheckpoint() {
    STRATA_TRY(WriteNext());
    STRATA_TRY(check_.Run());
    number_ = FindNewest(servers_.CheckpointsFolder()).whole;
    return {};
  }

  Status Restore() { return check_.Admin({"restore", fmt::to_string(number_), "--yes"}); }

  Process StartRestore(std::string_view kind) const {
    if (kind == "admin restore") {
      return check_.StartAdmin({"restore", fmt::to_string(number_), "--yes"});
    }
    return {ProgramPath("strata-soak-client"),
            {.arguments = {fmt::format("--servers={}", fmt::join(servers_.addresses(), ",")),
                           fmt::format("--cluster={}", SoakServers::name()),
                           fmt::format("--restore={}", number_)}}};
  }

  // False when it was done before it could be killed.
  Result<bool> KillRestore(std::string_view kind) {
    FileWatch parts(FileEvent::kOpened);
    parts.Add(
        fmt::format("{}/{}", servers_.CheckpointsFolder(), format::CheckpointFolderName(number_)));
    Process process = StartRestore(kind);
    if (random_.Chance(kAimed)) {
      parts.Wait(".part", kSightMax);
      Pass(RandomTime(random_, kReadingMax));
    } else {
      Pass(RandomTime(random_, kRestoreMax));
    }
    process.Signal(SIGKILL);
    STRATA_ASSIGN(const ProcessEnd end,
                  check_.AwaitEnd(process, "a killed process", RealClock().Now()));
    if (end.signal != 0) return true;
    if (end.code == 0) return false;
    return Ended(std::string(kind), process);
  }

  // What a half-done restore left is as durable as anything else.
  Status RestartServer(uint64_t saved) {
    const auto rank = static_cast<uint32_t>(random_.Below(servers_.options().servers));
    servers_.KillServer(rank);
    servers_.StartServer(rank);
    ++options_.report->restarts;
    STRATA_TRY(servers_.AwaitReady(rank));
    return LanesOf(saved, version_).status().Prefixed("after a restart of a server");
  }

  // Every lane holds all rows of one of the versions. How many hold the first.
  Result<size_t> LanesOf(uint64_t one, uint64_t other) {
    const TimeNs began = RealClock().Now();
    STRATA_ASSIGN(const std::vector<float> rows, PullRows(*store_, table_, keys_));
    options_.longest->Note(RealClock().Now() - began, "a pull behind a restore");
    std::vector<uint64_t> versions(map_.lanes.size(), 0);  // 0: not known yet
    for (size_t i = 0; i < keys_.size(); ++i) {
      uint64_t& version = versions[map_.LaneOf(keys_[i])];
      if (version == 0) version = rows[i * kDim] == Value(one, keys_[i], 0) ? one : other;
      for (uint32_t e = 0; e < kDim; ++e) {
        if (rows[i * kDim + e] == Value(version, keys_[i], e)) continue;
        return Failed(
            fmt::format("key {} on lane {} holds {}; expected version {}, {}, on the "
                        "whole lane; of versions {} and {}",
                        keys_[i], map_.LaneOf(keys_[i]), rows[i * kDim + e], version,
                        Value(version, keys_[i], e), one, other));
      }
    }
    return static_cast<size_t>(std::count(versions.begin(), versions.end(), one));
  }

  const CallerKillsOptions options_;
  Random random_;
  SoakServers servers_;
  ServiceCheck check_;
  wire::ShardMap map_;
  const TableSpec table_ = SumTable("versions", kDim);
  std::vector<Key> keys_;
  std::unique_ptr<RemoteStore> store_;
  uint64_t version_ = 0;  // what the table holds
  uint32_t number_ = 0;   // the checkpoint that is restored
};

}  // namespace

std::unique_ptr<CallerKills> MakeRestoreKills(const CallerKillsOptions& options) {
  return std::make_unique<RestoreKills>(options);
}

}  // namespace strata::soak
