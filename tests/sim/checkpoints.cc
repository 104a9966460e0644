#include "tests/sim/checkpoints.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <ranges>
#include <set>
#include <utility>

#include "ps/shard/checkpoint_turn.h"
#include "storage/checkpoint/checkpoint_files.h"
#include "storage/checkpoint/verify.h"
#include "tests/sim/shared_folder.h"

namespace strata::sim {
namespace {

constexpr TimeNs kPatience = 60 * kSecond;  // for turns and stalls of others, too
constexpr uint32_t kRestored = 2;           // of those that are there, the newest

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
  if (random_.Chance(stalls_)) {
    const auto most = static_cast<uint64_t>(2 * CheckpointTurn::kSilenceMax);
    const TimeNs end = cluster_.now() + static_cast<TimeNs>(random_.Below(most));
    cluster_.At(end, [] {});
    cluster_.Run([&] { return cluster_.now() >= end; });
  }
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
                         const CheckpointsOptions& options)
    : cluster_(cluster),
      load_(load),
      trainers_(trainers),
      disk_(disk),
      keep_(options.keep),
      random_(options.seed ^ 0x636b7074) {
  for (size_t i = 0; i < options.takers; ++i) {
    takers_.push_back(std::make_unique<Taker>(cluster, options.first_taker + i, options.stalls,
                                              options.seed * 16 + i));
  }
}

void Checkpoints::Begin(TimeNs every) {
  for (const auto& taker : takers_) Plan(*taker, every);
}

void Checkpoints::Plan(Taker& taker, TimeNs every) {
  const auto most = static_cast<uint64_t>(2 * every);
  cluster_.At(cluster_.now() + 1 + static_cast<TimeNs>(random_.Below(most)), [this, &taker, every] {
    if (ended_) return;
    if (!taker.taking) Take(taker);
    Plan(taker, every);
  });
}

void Checkpoints::Take(Taker& taker) {
  taker.taking = true;
  Taken taken;
  for (size_t t = 0; t < Load::kTables; ++t) taken.least[t] = load_.ledger(t).AllAcked();
  if (trainers_ != nullptr) taken.steps_least = trainers_->Acked();
  const Result<uint32_t> number = taker.checkpointer.Cut(cluster_.now() + kPatience);
  if (number.ok()) {
    taken.number = *number;
    for (size_t t = 0; t < Load::kTables; ++t) taken.most[t] = load_.ledger(t).AllBegun();
    if (trainers_ != nullptr) taken.steps_most = trainers_->Begun();
    const auto saved =
        taker.checkpointer.Save(*number, random_.Chance(0.3), {}, cluster_.now() + kPatience);
    taken.saved = saved.ok();
    saved_ += taken.saved ? 1 : 0;
    taken_.push_back(std::move(taken));
  }
  taker.taking = false;
}

void Checkpoints::Check() {
  std::ranges::sort(taken_, {}, &Taken::number);  // some were saved after later ones
  const Result<CheckpointList> list = ListCheckpoints(disk_, kCheckpointsFolder);
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
  const Result<VerifyReport> report = VerifyCheckpoint(disk_, kCheckpointsFolder, number);
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
