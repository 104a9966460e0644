#include "ps/shard/lane_checkpoint.h"

#include <fmt/format.h>

#include "storage/checkpoint/checkpoint_files.h"
#include "storage/checkpoint/checkpoint_marks.h"
#include "storage/checkpoint/load.h"

namespace strata {
namespace {

class Target : public LoadTarget {
 public:
  Target(const LaneLoad& load, LoadedLane& to)
      : load_(load), tables_(to.tables), image_(to.image) {}

  bool Owns(uint32_t shard) const override { return load_.map->owner[shard] == load_.index; }
  bool Wants(const std::string& table) const override {
    return load_.table.empty() || table == load_.table;
  }
  Result<LocalTable*> Table(const TableSpec& spec) override {
    std::unique_ptr<LocalTable>& table = tables_[ShortId(spec.id())];
    if (table == nullptr) {
      table = load_.make_table(spec);
      table->SetEpoch(wire::CutOrNone(load_.number));
    } else if (table->spec().name != spec.name) {
      return Refused(
          fmt::format("checkpoint {} holds the tables '{}' and '{}', whose names have the same id "
                      "{:#010x} on a server; restore it into a local store and rename one of them",
                      load_.number, table->spec().name, spec.name, ShortId(spec.id())));
    }
    return table.get();
  }
  std::string* ImageOf(const wire::LaneName& lane) override {
    return load_.with_image && lane == load_.map->lanes[load_.index] ? &image_ : nullptr;
  }

 private:
  const LaneLoad& load_;
  Tables& tables_;
  std::string& image_;
};

}  // namespace

Result<LoadedLane> LoadLane(const LaneLoad& load) {
  LoadedLane loaded;
  Target target(load, loaded);
  Disk& disk = *load.from.disk;
  if (load.is_marked) STRATA_TRY(PutManifestBack(disk, load.from.root, load.number).status());
  STRATA_TRY(CheckCheckpointOwner(disk, load.from.root, load.cluster_id, load.number));
  STRATA_ASSIGN(loaded.manifest, LoadCheckpoint(disk, load.from.root, load.number, target));
  const wire::LaneName& name = load.map->lanes[load.index];
  if (load.with_image && loaded.manifest.FindPart(name.server, name.lane) == nullptr) {
    return NotFound(fmt::format("checkpoint {} has no part of server {} lane {}", load.number,
                                name.server, name.lane));
  }
  if (!load.table.empty() && loaded.tables.empty()) {
    return NotFound(
        fmt::format("checkpoint {} does not hold the table '{}'", load.number, load.table));
  }
  for (const auto& [id, table] : loaded.tables) table->ForgetErased(load.number);
  return loaded;
}

std::shared_ptr<ScanPage> Saving::Part::TakePage() {
  const MutexLock lock(mutex);
  if (free_pages.empty()) return std::make_shared<ScanPage>();
  std::shared_ptr<ScanPage> page = std::move(free_pages.back());
  free_pages.pop_back();
  return page;
}

void Saving::Part::GiveBack(std::shared_ptr<ScanPage> page) {
  const MutexLock lock(mutex);
  free_pages.push_back(std::move(page));
}

void Finished::Add(Then then) {
  const MutexLock lock(mutex_);
  thens_.push_back(std::move(then));
  any_ = true;
}

std::vector<Finished::Then> Finished::Take() {
  const MutexLock lock(mutex_);
  any_ = false;
  return std::exchange(thens_, {});
}

}  // namespace strata
