#include "ps/service/data_folder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <span>

#include "base/human_text.h"
#include "base/log.h"
#include "storage/log/segment_files.h"

namespace strata {
namespace {

constexpr uint64_t kRoomBlock = 4096;  // the nonces that are kept take less than half of it
static_assert(format::kBootNoncesMax * sizeof("    4294967295,") < kRoomBlock / 2);
constexpr const char* kCheckpointsName = "checkpoints";

// Of each server: 1 lane; 2, 1 lanes.
std::string LanesText(const std::vector<uint16_t>& lanes) {
  if (lanes.size() == 1) return Counted(lanes[0], "lane");
  return fmt::format("{} lanes", fmt::join(lanes, ", "));
}

Status CheckOwner(const format::ServerIdentityFile& found, const DataFolder::Owner& owner,
                  const std::string& folder) {
  const char* const advice = "give each server a folder of its own (server.data)";
  if (found.cluster != owner.cluster_id) {
    return Refused(
        fmt::format("{} holds the state of cluster {:016x}, this server belongs to "
                    "'{}', {:016x} (cluster.name); {}",
                    folder, found.cluster, owner.cluster_name, owner.cluster_id, advice));
  }
  if (found.rank != owner.rank) {
    return Refused(fmt::format("{} holds the state of server {}, this is server {}; {}", folder,
                               found.rank, owner.rank, advice));
  }
  if (found.lanes_per_server != owner.lanes_per_server) {
    return Refused(fmt::format(
        "{} holds the state of a cluster whose servers have {}, now they are to have {}; start "
        "with empty folders and restore a checkpoint, which fits any number of lanes and holds all "
        "tables, but no collections: those are loaded again",
        folder, LanesText(found.lanes_per_server), LanesText(owner.lanes_per_server)));
  }
  return {};
}

Status LostPart(const std::string& path, std::string_view what) {
  return Lost(
      fmt::format("{} {}: what is written from now on would be lost, so writes are refused; stop "
                  "this server, put the folder back and start it again, or start it with an empty "
                  "folder and restore a checkpoint",
                  path, what));
}

}  // namespace

Result<std::unique_ptr<DataFolder>> DataFolder::Open(Disk& disk, const std::string& path,
                                                     const Owner& owner, const Draw& draw,
                                                     uint64_t segment_bytes) {
  STRATA_TRY(MakeDurableFolder(disk, path));
  std::unique_ptr<DataFolder> folder(new DataFolder(disk, path));
  Result<std::unique_ptr<FileLock>> lock = FileLock::Take(path + "/lock");
  if (!lock.ok()) return lock.status().Prefixed("server.data is used by one server at a time");
  folder->lock_ = std::move(*lock);
  STRATA_TRY(folder->ReadIdentity(owner, draw));
  if (folder->last_ports().empty()) {
    STRATA_TRY(folder->CheckRoom(owner.lanes_per_server[owner.rank], segment_bytes));
  }
  return folder;
}

DataFolder::DataFolder(Disk& disk, std::string path)
    : disk_(disk),
      path_(std::move(path)),
      identity_file_(disk, fmt::format("{}/{}", path_, format::kServerIdentityName)) {}

std::string DataFolder::LaneFolder(uint16_t lane) const {
  return fmt::format("{}/lane-{}", path_, lane);
}

std::string DataFolder::CheckpointsFolder() const {
  return fmt::format("{}/{}", path_, kCheckpointsName);
}

std::string DataFolder::CollectionsFolder(uint16_t lane) const {
  return fmt::format("{}/collections-{}", path_, lane);
}

Status DataFolder::ReadIdentity(const Owner& owner, const Draw& draw) {
  const std::string& file = identity_file_.path();
  const Result<std::string> bytes = ReadFile(disk_, file, format::kServerIdentityBytesMax);
  if (bytes.ok()) {
    STRATA_ASSIGN(identity_, format::DecodeServerIdentity(*bytes, file));
    STRATA_TRY(CheckOwner(identity_, owner, path_));
    if (++identity_.boot == 0) identity_.boot = 1;
    std::vector<uint32_t>& nonces = identity_.nonces;
    nonces.insert(nonces.begin(), std::max(draw.nonce, 1U));
    nonces.resize(std::min(nonces.size(), format::kBootNoncesMax));
    return {};
  }
  if (bytes.status().code() != StatusCode::kNotFound) return bytes.status();
  STRATA_ASSIGN(const std::vector<std::string> names, disk_.List(path_));
  const auto state = std::ranges::find_if(names, [](const std::string& name) {
    return name.starts_with("lane-") || name.starts_with("collections-");
  });
  if (state != names.end()) {
    return Corrupt(
        fmt::format("{} is missing, but {}/{} exists: whose state it is cannot be "
                    "told; put the file back, or give an empty folder",
                    file, path_, *state));
  }
  if (std::ranges::find(names, kCheckpointsName) != names.end()) {
    Log(LogLevel::kWarning,
        "{} is missing, but {}/{} exists: the server starts without tables; strata-admin "
        "checkpoint list shows what strata-admin restore can put back",
        file, path_, kCheckpointsName);
  }
  identity_ = {.cluster = owner.cluster_id,
               .rank = owner.rank,
               .lanes_per_server = owner.lanes_per_server,
               .lineage = std::max<uint64_t>(draw.lineage >> 16, 1),
               .boot = 1,
               .lane_ports = {},
               .nonces = {std::max(draw.nonce, 1U)},
               .lanes_made = false};
  return {};
}

BootIdentity DataFolder::boot() const {
  BootIdentity boot{.nonce = identity_.nonces.front(), .past = {}};
  uint16_t number = identity_.boot;
  for (const uint32_t nonce : std::span(identity_.nonces).subspan(1)) {
    number = number == 1 ? UINT16_MAX : static_cast<uint16_t>(number - 1);
    boot.past[number] = nonce;
  }
  return boot;
}

// By reserving it all, and giving it back.
Status DataFolder::CheckRoom(uint64_t lanes, uint64_t segment_bytes) {
  const std::string path = path_ + "/room.tmp";
  STRATA_ASSIGN(std::unique_ptr<File> file, disk_.Create(path));
  const Status room = file->Preallocate(lanes * segment_bytes);
  file.reset();
  STRATA_TRY(disk_.Remove(path));
  if (room.code() != StatusCode::kDiskFull) return room;
  const std::optional<uint64_t> free = disk_.FreeBytes(path_);
  return DiskFull(fmt::format(
      "{} has no room for the logs of a new server: {} with a segment of {} bytes each need {} "
      "bytes, {}; make room, or set server.log_bytes_max lower: a segment has a quarter of a "
      "lane's share of it",
      path_, Counted(lanes, "lane"), segment_bytes, lanes * segment_bytes,
      free ? fmt::format("{} are free", *free) : "there are fewer"));
}

Status DataFolder::Begin(const std::vector<uint16_t>& lane_ports) {
  identity_.lane_ports = lane_ports;
  STRATA_TRY(WriteIdentity());
  const auto lanes = static_cast<uint16_t>(lane_ports.size());
  for (uint16_t lane = 0; lane < lanes; ++lane) {
    STRATA_TRY(disk_.MakeFolder(LaneFolder(lane)));
  }
  return disk_.SyncFolder(path_);
}

Status DataFolder::NoteLanesMade() {
  if (identity_.lanes_made) return {};
  identity_.lanes_made = true;
  return WriteIdentity();
}

Status DataFolder::NoteParts() {
  std::vector<std::string> paths = {path_, identity_file_.path()};
  for (size_t lane = 0; lane < identity_.lane_ports.size(); ++lane) {
    paths.push_back(LaneFolder(static_cast<uint16_t>(lane)));
  }
  newest_.assign(identity_.lane_ports.size(), 0);
  parts_.clear();
  for (const std::string& path : paths) {
    STRATA_ASSIGN(const FileId id, disk_.IdOf(path));
    parts_.push_back({path, id});
  }
  STRATA_ASSIGN(identity_bytes_,
                ReadFile(disk_, identity_file_.path(), format::kServerIdentityBytesMax));
  return CheckLogs();
}

Status DataFolder::CheckParts() {
  for (const Part& part : parts_) {
    const Result<FileId> id = disk_.IdOf(part.path);
    if (id.status().code() == StatusCode::kNotFound) return LostPart(part.path, "is missing");
    STRATA_TRY(id.status());
    if (*id != part.id) return LostPart(part.path, "was replaced by another");
  }
  const Result<std::string> bytes =
      ReadFile(disk_, identity_file_.path(), format::kServerIdentityBytesMax);
  STRATA_TRY(bytes.status());
  if (*bytes != identity_bytes_) return LostPart(identity_file_.path(), "has another content");
  return CheckLogs();
}

// A log's segments come and go, but the newest is there, and none before it becomes the newest.
Status DataFolder::CheckLogs() {
  for (size_t lane = 0; lane < newest_.size(); ++lane) {
    const std::string path = LaneFolder(static_cast<uint16_t>(lane));
    LogOptions options;
    options.disk = &disk_;
    options.folder = path;
    STRATA_ASSIGN(const LogFolder log, ListLogFolder(options));
    const Lsn newest = log.segments.empty() ? 0 : log.segments.back().first;
    if (newest < newest_[lane]) return LostPart(SegmentPath(path, newest_[lane]), "is missing");
    newest_[lane] = newest;
  }
  return {};
}

Status DataFolder::WriteIdentity() {
  const std::string bytes = format::EncodeServerIdentity(identity_);
  STRATA_TRY(identity_file_.Replace(bytes));
  // Nonces of later boots and other ports make it longer, but not beyond this. Without room this
  // start is fine.
  const uint64_t blocks = 2 * bytes.size() / kRoomBlock + 1;
  static_cast<void>(identity_file_.KeepRoom(blocks * kRoomBlock));
  return {};
}

}  // namespace strata
