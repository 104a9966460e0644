#include "ps/shard/lane_checkpoint.h"

#include "storage/checkpoint/load.h"

namespace strata {
namespace {

class Target : public LoadTarget {
 public:
  Target(const LaneLoad& load, Tables& tables) : load_(load), tables_(tables) {}

  bool Owns(uint32_t shard) const override { return load_.map->owner[shard] == load_.index; }
  Result<LocalTable*> Table(const TableSpec& spec) override {
    std::unique_ptr<LocalTable>& table = tables_[spec.id()];
    if (table == nullptr) {
      table = load_.make_table(spec);
      table->SetEpoch(load_.number);
    }
    return table.get();
  }

 private:
  const LaneLoad& load_;
  Tables& tables_;
};

}  // namespace

Result<LoadedLane> LoadLane(const LaneLoad& load) {
  LoadedLane loaded;
  Target target(load, loaded.tables);
  Disk& disk = *load.from.disk;
  STRATA_ASSIGN(loaded.manifest, LoadCheckpoint(disk, load.from.root, load.number, target));
  if (load.with_image) {
    const wire::LaneName& name = load.map->lanes[load.index];
    STRATA_ASSIGN(loaded.image,
                  ReadLaneImage(disk, load.from.root, loaded.manifest, name.server, name.lane));
  }
  for (const auto& [id, table] : loaded.tables) table->ForgetErased(load.number);
  return loaded;
}

void Finished::Add(Then then) {
  const std::lock_guard lock(mutex_);
  thens_.push_back(std::move(then));
  any_ = true;
}

std::vector<Finished::Then> Finished::Take() {
  const std::lock_guard lock(mutex_);
  any_ = false;
  return std::exchange(thens_, {});
}

}  // namespace strata
