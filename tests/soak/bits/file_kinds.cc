#include "tests/soak/bits/file_kinds.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>

#include "base/print.h"
#include "proto/format/log_base.h"
#include "proto/format/server_identity.h"
#include "storage/checkpoint/checkpoint_files.h"
#include "storage/rocks/rocks_db.h"
#include "tests/soak/file_faults.h"
#include "tests/storage/checkpoint_fixture.h"
#include "tests/storage/log_fixture.h"
#include "tests/support/sim_disk.h"
#include "tests/support/temp_folder.h"

namespace strata::soak {
namespace {

// An error has to name the file.
Verdict JudgeError(const Status& error, const std::string& file) {
  const std::string name = file.substr(file.rfind('/') + 1);
  if (error.message().find(name) != std::string::npos) return Verdict::kDetected;
  PrintStderr("{} is not named: {}\n", file, error.ToString());
  return Verdict::kWrong;
}

Verdict Equal(bool equal) { return equal ? Verdict::kHarmless : Verdict::kWrong; }

std::string Bytes(size_t size) {
  Random random(size);
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random.Next());
  return bytes;
}

// A small file that is decoded as a whole.
template <typename Value, typename Decode>
FileKind SmallFile(const std::string& path, const Value& value, const std::string& encoded,
                   Decode decode) {
  auto disk = std::make_shared<SimDisk>();
  STRATA_CHECK(WriteFileAtomically(*disk, path, encoded).ok());
  return {
      .disk = disk.get(), .files = {path}, .judge = [disk, value, decode](const std::string& file) {
        const auto content = ReadFile(*disk, file, UINT64_MAX);
        STRATA_CHECK(content.ok());
        const auto decoded = decode(*content, file);
        return decoded.ok() ? Equal(*decoded == value) : JudgeError(decoded.status(), file);
      }};
}

constexpr Lsn kRecords = 30;
constexpr Lsn kSynced = 28;

// What a start makes of the log: all records, or some of those that were not synced cut off after a
// loss of power, or an error.
Verdict JudgeLog(const LogOptions& options, const std::string& file) {
  const log_test::Replayed replayed = log_test::ReplayAll(options);
  const Lsn last = replayed.records.size();
  bool right = last <= kRecords;
  for (Lsn lsn = 1; right && lsn <= last; ++lsn) {
    right = replayed.records[lsn - 1] == log_test::RecordOf(lsn, 1, 600);
  }
  if (!right) return Verdict::kWrong;
  if (!replayed.summary.ok()) return JudgeError(replayed.summary.status(), file);
  if (last == kRecords) return Verdict::kHarmless;
  const bool may_cut = options.boot_id != "here" && last >= kSynced && replayed.summary->torn;
  return may_cut ? Verdict::kDetected : Verdict::kWrong;
}

// A chain of two checkpoints of three lanes on a simulated disk.
struct Checkpoints {
  SimDisk disk;
  CheckpointedLanes lanes{disk, "c", 3};

  Checkpoints() {
    lanes.Write(30);
    STRATA_CHECK(lanes.Take(1, true, {{"dense", Bytes(3000)}}).ok());
    lanes.Write(5);
    STRATA_CHECK(lanes.Take(2, false, {{"reader", Bytes(100)}}).ok());
  }

  Verdict Load(const std::string& file) {
    TestTarget target(2);
    const auto manifest = LoadCheckpoint(disk, "c", 2, target);
    return manifest.ok() ? Equal(target.Bits() == lanes.truth(2))
                         : JudgeError(manifest.status(), file);
  }

  Verdict ReadAttachment(const std::string& file) {
    const bool first = file == "c/0000000001/attachment-dense";
    const auto manifest = ReadCheckpointManifest(disk, "c", first ? 1 : 2);
    STRATA_CHECK(manifest.ok());
    const auto bytes = ReadCheckpointAttachment(disk, "c", *manifest, first ? "dense" : "reader");
    return bytes.ok() ? Equal(*bytes == Bytes(first ? 3000 : 100))
                      : JudgeError(bytes.status(), file);
  }
};

FileKind CheckpointFiles(std::vector<std::string> files) {
  auto all = std::make_shared<Checkpoints>();
  return {.disk = &all->disk, .files = std::move(files), .judge = [all](const std::string& file) {
            return all->Load(file);
          }};
}

// The cold tier is emptied when it is opened: it is damaged while it is open.
struct Cold {
  static constexpr Key kRows = 200;
  static constexpr size_t kRowBytes = 64;

  TempFolder folder;
  std::string rows = Bytes(kRows * kRowBytes);
  std::unique_ptr<RocksDb> db;
  SpaceId space{};

  Cold() {
    auto opened = RocksDb::Open({.folder = folder.path(), .direct_io = false, .read_threads = 1});
    STRATA_CHECK_MSG(opened.ok(), opened.status().ToString());
    db = std::move(*opened);
    space = db->MakeSpace(kRowBytes);
    std::vector<ColdWrite> writes;
    for (Key key = 0; key < kRows; ++key) writes.push_back({key, Row(key)});
    STRATA_CHECK(db->Write(space, writes).ok() && db->Flush().ok());
  }

  const std::byte* Row(Key key) const {
    return reinterpret_cast<const std::byte*>(rows.data()) + key * kRowBytes;
  }

  // Scans read past the cache of blocks.
  Verdict Scan(const std::string& file) const {
    const auto cursor = db->Cursor(space, 0);
    Key read = 0;
    for (; cursor->Valid(); cursor->Next(), ++read) {
      const Key key = cursor->key();
      if (key >= kRows || memcmp(cursor->row(), Row(key), kRowBytes) != 0) return Verdict::kWrong;
    }
    return cursor->status().ok() ? Equal(read == kRows) : JudgeError(cursor->status(), file);
  }
};

}  // namespace

FileKind LogSegments() {
  auto disk = std::make_shared<SimDisk>();
  LogOptions options{.disk = disk.get(),
                     .folder = "lane",
                     .lineage = 77,
                     .lane = 2,
                     .boot_id = "here",
                     .segment_bytes = 4096};
  auto log = OpenLog(options, 0);
  STRATA_CHECK(log.ok());
  for (Lsn lsn = 1; lsn <= kRecords; ++lsn) {
    STRATA_CHECK(log_test::AppendRecord(**log, log_test::RecordOf(lsn, 1, 600)).ok());
    STRATA_CHECK((*log)->Write().ok());
    if (lsn <= kSynced) STRATA_CHECK((*log)->Sync().ok());
  }
  FileKind kind{.disk = disk.get(), .files = {}, .judge = [disk, options](const std::string& file) {
                  const Verdict here = JudgeLog(options, file);
                  LogOptions elsewhere = options;  // power was lost
                  elsewhere.boot_id = "elsewhere";
                  return std::max(here, JudgeLog(elsewhere, file));
                }};
  for (const SegmentFile& segment : log_test::Segments(options)) {
    kind.files.push_back(segment.path);
  }
  return kind;
}

FileKind ServerIdentities() {
  const format::ServerIdentityFile identity{.cluster = ~uint64_t{0},
                                            .rank = 1,
                                            .lanes_per_server = {2, 3},
                                            .lineage = 0x123456789abc,
                                            .boot = 7,
                                            .lane_ports = {7600, 41000, 65535},
                                            .nonces = {7, UINT32_MAX}};
  return SmallFile("identity", identity, format::EncodeServerIdentity(identity),
                   &format::DecodeServerIdentity);
}

FileKind LogBases() {
  const format::LogBase base{
      .lineage = 0xabcdef012345, .lane = 3, .checkpoint = 12, .cut_lsn = 1'234'567'890'123};
  return SmallFile("base", base, format::EncodeLogBase(base), &format::DecodeLogBase);
}

FileKind CheckpointManifests() {
  return CheckpointFiles({"c/0000000001/manifest", "c/0000000002/manifest"});
}

FileKind CheckpointParts() {
  return CheckpointFiles({"c/0000000001/server-0-lane-0.part", "c/0000000001/server-1-lane-0.part",
                          "c/0000000002/server-0-lane-1.part"});
}

FileKind CheckpointAttachments() {
  auto all = std::make_shared<Checkpoints>();
  return {.disk = &all->disk,
          .files = {"c/0000000001/attachment-dense", "c/0000000002/attachment-reader"},
          .judge = [all](const std::string& file) { return all->ReadAttachment(file); }};
}

FileKind ColdFiles() {
  auto cold = std::make_shared<Cold>();
  FileKind kind{.disk = &RealDisk(), .files = {}, .judge = [cold](const std::string& file) {
                  return cold->Scan(file);
                }};
  for (const std::string& file : FilesBelow(cold->folder.path())) {
    if (file.ends_with(".sst")) kind.files.push_back(file);
  }
  return kind;
}

std::vector<std::pair<std::string, std::function<FileKind()>>> AllFileKinds() {
  return {{"log segment", LogSegments},          {"log base", LogBases},
          {"server identity", ServerIdentities}, {"checkpoint manifest", CheckpointManifests},
          {"checkpoint part", CheckpointParts},  {"checkpoint attachment", CheckpointAttachments},
          {"saved model", SavedModels},          {"cold tier", ColdFiles}};
}

}  // namespace strata::soak
