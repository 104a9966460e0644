#include "ps/shard/lane_recovery.h"

#include <algorithm>

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
    STRATA_ASSIGN(const std::unique_ptr<File> file, disk.OpenToRead(folder + "/" + name));
    STRATA_ASSIGN(const uint64_t size, file->Size());
    bytes += size;
  }
  return bytes;
}

}  // namespace

Result<ReplaySummary> RecoverLane(Lane& lane, const LogOptions& options, const Clock& clock,
                                  const std::function<Status()>& between) {
  Recovery progress;
  STRATA_ASSIGN(progress.bytes_total, BytesIn(*options.disk, options.folder));
  lane.NoteProgress(progress);
  const auto visit = [&](const LogRecord& record) -> Status {
    if (between) STRATA_TRY(between());
    STRATA_TRY(lane.Replay(record, clock.Now()));
    progress.bytes_done = std::min(progress.bytes_done + record.body.size(), progress.bytes_total);
    lane.NoteProgress(progress);
    return {};
  };
  STRATA_ASSIGN(const ReplaySummary summary, ReplayLog(options, 1, visit));
  STRATA_ASSIGN(std::unique_ptr<WriteAheadLog> log, OpenLog(options, summary.last));
  lane.Serve(std::move(log));
  return summary;
}

}  // namespace strata
