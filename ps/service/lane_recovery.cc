#include "ps/service/lane_recovery.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>

#include "proto/format/log_base.h"

namespace strata {
namespace {

// What the files of a folder hold; none when there is no folder yet.
Result<uint64_t> BytesIn(Disk& disk, const std::string& folder) {
  const Result<std::vector<std::string>> names = disk.List(folder);
  if (!names.ok()) {
    return names.status().code() == StatusCode::kNotFound ? Result<uint64_t>(0) : names.status();
  }
  uint64_t bytes = 0;
  for (const std::string& name : *names) {
    STRATA_ASSIGN(const std::unique_ptr<File> file,
                  disk.OpenToRead(fmt::format("{}/{}", folder, name)));
    STRATA_ASSIGN(const uint64_t size, file->Size());
    bytes += size;
  }
  return bytes;
}

Result<std::optional<format::LogBase>> ReadBase(const CheckpointConfig& config,
                                                const LogOptions& log) {
  const Result<std::string> bytes =
      ReadFile(*config.disk, config.base->path(), format::kLogBaseBytesMax);
  if (bytes.status().code() == StatusCode::kNotFound) return std::optional<format::LogBase>();
  STRATA_TRY(bytes.status());
  STRATA_ASSIGN(const format::LogBase base, format::DecodeLogBase(*bytes, config.base->path()));
  if (base.lineage != log.lineage || base.lane != log.lane) {
    return Corrupt(fmt::format(
        "{}: expected the base of lane {} of lineage {:012x}, found that of lane {} of lineage "
        "{:012x}; put the lane's own file back",
        config.base->path(), log.lane, log.lineage, base.lane, base.lineage));
  }
  return std::optional(base);
}

Result<LoadedLane> LoadInBackground(const Lane& lane, uint32_t number,
                                    const BetweenSteps& between) {
  const LaneConfig& config = lane.config();
  const LaneLoad load{.from = *config.checkpoints,
                      .cluster_id = config.cluster_id,
                      .number = number,
                      .map = config.map,
                      .index = lane.index(),
                      .with_image = true,
                      .is_marked = true,
                      .make_table = config.make_table};
  if (!config.background) return LoadLane(load);
  struct Shared {
    Result<LoadedLane> loaded = Internal("not loaded");
    std::atomic<bool> done{false};
  };
  const auto shared = std::make_shared<Shared>();
  config.background([load, shared] {
    shared->loaded = LoadLane(load);
    shared->done = true;
  });
  while (!shared->done) {
    if (between) STRATA_TRY(between(true));
  }
  return std::move(shared->loaded);
}

// As LoadInBackground; collections are opened before the lane's log says whose changes they hold.
Status LoadCollections(Lane& lane, const BetweenSteps& between) {
  const LaneConfig& config = lane.config();
  if (!config.collections) return {};
  using Opened = Result<std::vector<std::shared_ptr<Collection>>>;
  struct Shared {
    Opened opened = Internal("not opened");
    std::atomic<bool> done{false};
  };
  const auto shared = std::make_shared<Shared>();
  const auto open = [shared, of = *config.collections] {
    shared->opened = Collection::OpenAll(of);
    shared->done = true;
  };
  if (config.background) {
    config.background(open);
  } else {
    open();
  }
  while (!shared->done) {
    if (between) STRATA_TRY(between(true));
  }
  STRATA_TRY(shared->opened.status());
  lane.LoadCollections(*shared->opened);
  return {};
}

constexpr TimeNs kRoomEvery = 100 * kMillisecond;
constexpr int kRoomTries = 300;

// Calls `work` again while it finds no room on the disk. A cold tier may need more of it to get its
// rows back than they took before, since files are merged later on; and others may have taken what
// it gave back when it was emptied. An error although there was room at so many looks is final.
Status WithRoom(Lane& lane, const Clock& clock, const BetweenSteps& between,
                const std::function<Status()>& work) {
  Status status = work();
  for (int tries = 1; status.code() == StatusCode::kDiskFull && between && tries < kRoomTries;
       ++tries) {
    lane.NoteRoom(status);
    do {
      const TimeNs end = clock.Now() + kRoomEvery;
      while (clock.Now() < end) STRATA_TRY(between(true));
    } while (!lane.Report().no_room.ok());
    status = work();
  }
  return status;
}

// Where the log is to be replayed from.
Result<Lsn> RecoverBase(Lane& lane, const LogOptions& log, const Clock& clock,
                        const BetweenSteps& between) {
  const std::optional<CheckpointConfig>& config = lane.config().checkpoints;
  if (!config || config->base == nullptr) return Lsn{1};
  STRATA_ASSIGN(const std::optional<format::LogBase> base, ReadBase(*config, log));
  if (!base) return Lsn{1};
  Result<LoadedLane> loaded = Internal("not loaded");
  const Status status = WithRoom(lane, clock, between, [&] {
    loaded = LoadInBackground(lane, base->checkpoint, between);
    return loaded.status();
  });
  if (!status.ok()) {
    return status.Prefixed(fmt::format("the log of lane {} begins behind checkpoint {}",
                                       lane.config().name.lane, base->checkpoint));
  }
  STRATA_TRY(lane.LoadBase(std::move(*loaded), base->cut_lsn, clock.Now()));
  return base->cut_lsn + 1;
}

// Before the log takes what room there is. Without any, a trim looks for it again.
Status KeepRoomForBase(const Lane& lane, const LogOptions& log) {
  const std::optional<CheckpointConfig>& config = lane.config().checkpoints;
  if (!config || config->base == nullptr) return {};
  STRATA_TRY(MakeDurableFolder(*log.disk, log.folder));
  const Status room = config->base->KeepRoom(format::kLogBaseBytesMax);
  return room.code() == StatusCode::kDiskFull ? Status() : room;
}

}  // namespace

Result<ReplaySummary> RecoverLane(Lane& lane, const LogOptions& options, const Clock& clock,
                                  const BetweenSteps& between) {
  Recovery progress;
  STRATA_ASSIGN(progress.bytes_total, BytesIn(*options.disk, options.folder));
  lane.NoteProgress(progress);
  STRATA_ASSIGN(const Lsn from, RecoverBase(lane, options, clock, between));
  STRATA_TRY(LoadCollections(lane, between));
  const auto visit = [&](const LogRecord& record) -> Status {
    if (between) STRATA_TRY(between(false));
    STRATA_TRY(WithRoom(lane, clock, between, [&] { return lane.Replay(record, clock.Now()); }));
    progress.bytes_done = std::min(progress.bytes_done + record.body.size(), progress.bytes_total);
    lane.NoteProgress(progress);
    return {};
  };
  STRATA_ASSIGN(const ReplaySummary summary, ReplayLog(options, from, visit));
  STRATA_TRY(KeepRoomForBase(lane, options));
  STRATA_ASSIGN(std::unique_ptr<WriteAheadLog> log, OpenLog(options, summary.last));
  lane.Serve(std::move(log));
  return summary;
}

}  // namespace strata
