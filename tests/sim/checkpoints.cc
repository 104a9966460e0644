#include "tests/sim/checkpoints.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <ranges>
#include <set>
#include <utility>

#include "storage/checkpoint/checkpoint_files.h"
#include "storage/checkpoint/verify.h"

namespace strata::sim {
namespace {

constexpr TimeNs kPatience = 5 * kSecond;
constexpr uint32_t kRestored = 2;  // of those that are there, the newest
constexpr const char* kRoot = "checkpoints";

Result<std::vector<float>> RowsIn(Cluster& cluster, const TableSpec& spec,
                                  const std::vector<Key>& keys) {
  std::vector<float> rows(keys.size() * spec.dim);
  Operation pull;
  TablePart part;
  part.table = spec.id();
  part.keys = keys;
  part.out = rows;
  pull.parts = {part};
  STRATA_TRY(cluster.SubmitAndRun(0, pull).status.Prefixed("a restored cluster"));
  return rows;
}

}  // namespace

Result<std::vector<wire::Received>> SimCaller::CallLanes(LaneCall call) {
  std::optional<Status> status;
  std::vector<wire::Received> replies;
  cluster_.client(client_).CallLanes(
      std::move(call),
      [&](Status s, std::vector<wire::Received> r) {
        status = std::move(s);
        replies = std::move(r);
      },
      cluster_.now());
  if (!cluster_.Run([&] { return status.has_value(); })) return Failed("the cluster stands still");
  STRATA_TRY(*status);
  return replies;
}

Checkpoints::Checkpoints(Cluster& cluster, Load& load, Trainers* trainers, Disk& disk,
                         uint32_t keep, uint64_t seed)
    : cluster_(cluster),
      load_(load),
      trainers_(trainers),
      disk_(disk),
      keep_(keep),
      random_(seed ^ 0x636b7074),
      caller_(cluster, 0),
      checkpointer_(caller_) {}

void Checkpoints::Begin(TimeNs every) { Plan(every); }

void Checkpoints::Plan(TimeNs every) {
  const auto most = static_cast<uint64_t>(2 * every);
  cluster_.At(cluster_.now() + 1 + static_cast<TimeNs>(random_.Below(most)), [this, every] {
    if (ended_) return;
    if (!taking_) Take();
    Plan(every);
  });
}

void Checkpoints::Take() {
  taking_ = true;
  Taken taken;
  for (size_t t = 0; t < Load::kTables; ++t) taken.least[t] = load_.ledger(t).AllAcked();
  if (trainers_ != nullptr) taken.steps_least = trainers_->Acked();
  const Result<uint32_t> number = checkpointer_.Cut(cluster_.now() + kPatience);
  if (number.ok()) {
    taken.number = *number;
    for (size_t t = 0; t < Load::kTables; ++t) taken.most[t] = load_.ledger(t).AllBegun();
    if (trainers_ != nullptr) taken.steps_most = trainers_->Begun();
    const auto saved =
        checkpointer_.Save(*number, random_.Chance(0.3), {}, cluster_.now() + kPatience);
    taken.saved = saved.ok();
    saved_ += taken.saved ? 1 : 0;
    taken_.push_back(std::move(taken));
  }
  taking_ = false;
}

void Checkpoints::Check() {
  const Result<CheckpointList> list = ListCheckpoints(disk_, kRoot);
  Findings& findings = load_.findings();
  if (!list.ok()) return findings.Add(&Findings::wrong, list.status().ToString());
  for (const CheckpointList::Damaged& damaged : list->damaged) {
    findings.Add(&Findings::wrong, "a manifest: " + damaged.status.ToString());
  }
  std::set<uint32_t> there;
  for (const auto& manifest : list->checkpoints) there.insert(manifest.number);
  uint32_t found = 0;
  for (const Taken& taken : std::views::reverse(taken_)) {
    if (!there.contains(taken.number)) {
      if (!taken.saved || found >= keep_) continue;
      findings.Add(&Findings::lost, fmt::format("checkpoint {} is not there", taken.number));
    } else if (++found <= kRestored) {
      CheckOne(taken);
    } else {
      CheckFiles(taken.number);
    }
  }
}

void Checkpoints::CheckFiles(uint32_t number) {
  const Result<VerifyReport> report = VerifyCheckpoint(disk_, kRoot, number);
  const Status status =
      !report.ok() || report->findings.empty() ? report.status() : report->findings.front();
  if (status.ok()) return;
  load_.findings().Add(&Findings::wrong,
                       fmt::format("checkpoint {}: {}", number, status.ToString()));
}

void Checkpoints::CheckOne(const Taken& taken) {
  ClusterOptions options;
  options.seed = taken.number;
  options.lanes_per_server.assign(1 + random_.Below(3),
                                  static_cast<uint16_t>(1 + random_.Below(3)));
  options.delay_max = kMillisecond;
  options.chunk_bytes = size_t{1} << 16;
  options.server.checkpoints = &disk_;
  Cluster fresh(options);
  SimCaller caller(fresh, 0);
  RemoteCheckpointer restorer(caller);
  if (const Status restored = restorer.Restore(taken.number, fresh.now() + kPatience);
      !restored.ok()) {
    return load_.findings().Add(&Findings::wrong, fmt::format("checkpoint {} is not restored: {}",
                                                              taken.number, restored.ToString()));
  }
  CheckLoad(fresh, taken);
  if (trainers_ != nullptr) CheckTrainers(fresh, taken);
}

void Checkpoints::CheckLoad(Cluster& fresh, const Taken& taken) {
  for (size_t t = 0; t < Load::kTables; ++t) {
    const Ledger& ledger = load_.ledger(t);
    std::vector<Key> keys;
    for (Key key = 0; key < ledger.keys(); ++key) keys.push_back(key);
    const Result<std::vector<float>> rows = RowsIn(fresh, load_.SpecOf(t), keys);
    if (!rows.ok()) return load_.findings().Add(&Findings::wrong, rows.status().ToString());
    ledger.CheckCut(*rows, taken.least[t], taken.most[t], load_.findings());
  }
}

void Checkpoints::CheckTrainers(Cluster& fresh, const Taken& taken) {
  for (size_t t = 0; t < trainers_->specs().size(); ++t) {
    const Result<std::vector<float>> rows =
        RowsIn(fresh, trainers_->specs()[t], trainers_->AllKeys());
    if (!rows.ok()) return load_.findings().Add(&Findings::wrong, rows.status().ToString());
    const std::string wrong = trainers_->CheckCut(t, *rows, taken.steps_least, taken.steps_most);
    if (wrong.empty()) continue;
    load_.findings().Add(&Findings::wrong, fmt::format("checkpoint {}: {}", taken.number, wrong));
  }
}

}  // namespace strata::sim
