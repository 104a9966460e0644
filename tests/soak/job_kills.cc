#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "base/random.h"
#include "proto/format/checkpoint_manifest.h"
#include "tests/soak/caller_kills.h"
#include "tests/soak/checkpoint_watch.h"
#include "tests/soak/file_watch.h"
#include "tests/soak/moments.h"
#include "tests/soak/soak_job.h"
#include "tests/soak/table_calls.h"
#include "tests/support/wait_until.h"

namespace strata::soak {
namespace {

constexpr std::string_view kKinds[] = {"worker push", "worker checkpoint", "worker restore"};
constexpr uint32_t kWorkers = 2;
constexpr double kAimed = 0.7;                     // when it is seen to be under way
constexpr TimeNs kRestoreMax = 80 * kMillisecond;  // from the start to the kill
constexpr TimeNs kWritingMax = 8 * kMillisecond;   // from the sight of a checkpoint to the kill
constexpr const char* kTraining = " of step 0: ";
constexpr const char* kResumed = "training goes on from checkpoint";
constexpr uint32_t kDim = 5;  // of the job's rows: embedding and weight
constexpr Key kMarks = 64;    // rows of all lanes
constexpr float kMark = 1e6F;

// Every cycle is a run of the job that is killed once (twice, when it is killed while it resumes),
// goes on, and must end with the model of the run that nobody disturbed.
class JobKills final : public CallerKills {
 public:
  explicit JobKills(const CallerKillsOptions& options)
      : options_(options),
        random_(options.seed),
        servers_({.workers = kWorkers,
                  .seed = options.seed,
                  // Those of the check after a kill must not push out the job's newest.
                  .settings = "checkpoints_kept = 6",
                  .patience = options.patience}),
        check_(&servers_, options.longest),
        job_(&servers_, &check_, options.seed) {}

  std::span<const std::string_view> kinds() const override { return kKinds; }

  Status Start() override {
    STRATA_TRY(servers_.StartServers());
    job_.Begin("unbroken");
    job_.StartWorkers();
    STRATA_TRY(job_.AwaitLog(kTraining));
    const TimeNs began = RealClock().Now();
    STRATA_TRY(job_.AwaitSuccess().status());
    training_time_ = RealClock().Now() - began;
    model_ = job_.Model();
    if (model_.empty()) return Failed("the unbroken run left no model");
    return DropTable();
  }

  Result<bool> Cycle(std::string_view kind) override {
    job_.Begin(fmt::format("job-{}", ++cycles_));
    job_.StartWorkers();
    STRATA_TRY(job_.AwaitLog(kTraining));
    STRATA_ASSIGN(bool midway, kind == "worker checkpoint" ? KillInCheckpoint() : KillInStep());
    STRATA_TRY(job_.AwaitEnds());
    if (kind == "worker restore") {
      STRATA_ASSIGN(midway, KillInRestore());
      STRATA_TRY(job_.AwaitEndsOrGroup());
    }
    STRATA_TRY(check_.Run());
    STRATA_TRY(GoOn());
    return midway;
  }

  void Finish(SoakReport* /*report*/) override {}

 private:
  Status DropTable() { return check_.Admin({"table", "drop", job_.table(), "--yes"}); }

  uint32_t AnyRank() { return static_cast<uint32_t>(random_.Below(kWorkers)); }

  Result<bool> KillInStep() {
    Pass(RandomTime(random_, training_time_ * 9 / 10));
    const bool midway = job_.Running();
    job_.Kill(AnyRank());
    return midway;
  }

  // In the middle: its manifest is not there.
  Result<bool> KillInCheckpoint() {
    Pass(RandomTime(random_, training_time_ / 2));
    const uint32_t before = FindNewest(servers_.CheckpointsFolder()).begun;
    WaitUntil(
        [&] { return FindNewest(servers_.CheckpointsFolder()).begun > before || !job_.Running(); },
        options_.patience);
    Pass(RandomTime(random_, kWritingMax));
    const bool running = job_.Running();
    job_.Kill(0);  // the rank that takes them
    const NewestCheckpoints newest = FindNewest(servers_.CheckpointsFolder());
    return running && newest.begun > std::max(before, newest.whole);
  }

  // In the middle: rows that the checkpoint does not hold are gone, and it never said so.
  Result<bool> KillInRestore() {
    TableSpec table = SumTable(job_.table(), kDim);
    STRATA_ASSIGN(const std::unique_ptr<RemoteStore> store, ConnectTo(servers_, "soak marks"));
    STRATA_ASSIGN(const std::vector<TableSpec> tables, store->ListTables());
    const auto found = std::ranges::find(tables, table.name, &TableSpec::name);
    if (found == tables.end()) return Failed("the job's table is gone: " + table.name);
    table = *found;
    std::vector<Key> keys(kMarks);
    for (Key& key : keys) key = random_.Next();
    const std::vector<float> marks(kMarks * table.dim, kMark);
    STRATA_TRY(AssignRows(*store, table, keys, marks));

    FileWatch parts(FileEvent::kOpened);
    const uint32_t newest = FindNewest(servers_.CheckpointsFolder()).whole;
    parts.Add(
        fmt::format("{}/{}", servers_.CheckpointsFolder(), format::CheckpointFolderName(newest)));
    job_.StartWorkers();
    if (random_.Chance(kAimed)) {
      parts.Wait(".part", kSightMax);
    } else {
      Pass(RandomTime(random_, kRestoreMax));
    }
    job_.Kill(AnyRank());
    ++options_.report->restarts;
    const bool said = job_.worker(0).Errors().find(kResumed) != std::string::npos;
    STRATA_ASSIGN(const std::vector<float> rows, PullRows(*store, table, keys));
    const bool marked = std::ranges::count(rows, kMark) == static_cast<ptrdiff_t>(rows.size());
    return !said && !marked;
  }

  Status GoOn() {
    job_.StartWorkers();
    STRATA_ASSIGN(const std::string output, job_.AwaitSuccess());
    if (output.find("\"resumed_from\":") == std::string::npos) {
      return Failed("a job with a checkpoint began anew: " + output);
    }
    if (job_.Model() != model_) {
      ++options_.report->findings.wrong;
      options_.report->findings.examples.push_back(job_.table() +
                                                   ": another model than that of the unbroken run");
    }
    return DropTable();
  }

  const CallerKillsOptions options_;
  Random random_;
  SoakServers servers_;
  ServiceCheck check_;
  SoakJob job_;
  std::string model_;
  TimeNs training_time_ = 0;  // from the first checkpoint to the end
  uint64_t cycles_ = 0;
};

}  // namespace

std::unique_ptr<CallerKills> MakeJobKills(const CallerKillsOptions& options) {
  return std::make_unique<JobKills>(options);
}

}  // namespace strata::soak
