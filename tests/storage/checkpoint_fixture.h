// A small cluster's lanes, as far as checkpoints go: tables under random writes, whose checkpoints
// are taken as lanes take them, and the truth about each.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "proto/format/checkpoint_manifest.h"
#include "storage/checkpoint/checkpointer.h"
#include "storage/checkpoint/load.h"
#include "storage/memory/host_table.h"
#include "tests/contract/table_bits.h"
#include "tests/support/sim_disk.h"

namespace strata {

using StoreBits = std::map<std::string, TableBits>;  // by table

// Loads what it owns into tables of its own.
class TestTarget : public LoadTarget {
 public:
  // Owns the shards that leave `rest` when divided by `parts`.
  explicit TestTarget(uint32_t epoch, uint32_t rest = 0, uint32_t parts = 1)
      : epoch_(epoch), rest_(rest), parts_(parts) {}

  bool Owns(uint32_t shard) const override { return shard % parts_ == rest_; }
  Result<LocalTable*> Table(const TableSpec& spec) override;
  std::string* ImageOf(const wire::LaneName& lane) override {
    return &images_[{lane.server, lane.lane}];
  }
  StoreBits Bits() const;
  const std::string& image(const wire::LaneName& lane) const {
    return images_.at({lane.server, lane.lane});
  }

 private:
  const uint32_t epoch_;
  const uint32_t rest_;
  std::map<std::pair<uint16_t, uint16_t>, std::string> images_;
  const uint32_t parts_;
  std::map<std::string, std::unique_ptr<LocalTable>> tables_;
};

class CheckpointedLanes {
 public:
  static constexpr uint64_t kCluster = 0x1122334455667788;

  CheckpointedLanes(Disk& disk, std::string root, uint64_t seed,
                    std::vector<uint16_t> lanes_per_server = {2, 1});

  void Write(uint32_t batches);
  void DropAndMakeTable();  // table "b", another definition perhaps
  // Takes checkpoint `number`, writing a little meanwhile. The truth about it is kept, whether it
  // succeeds or not.
  Status Take(uint32_t number, bool full, std::vector<Attachment> attachments = {},
              const std::string& job = "test");

  const StoreBits& truth(uint32_t number) const { return truth_.at(number); }
  const std::string& root() const { return root_; }
  const wire::ShardMap& shards() const { return shards_; }
  static std::string LaneImage(uint32_t number, size_t lane);

 private:
  using Tables = std::map<std::string, std::unique_ptr<LocalTable>>;

  void MakeTable(const TableSpec& spec);
  Result<format::PartEntry> SaveLane(size_t lane, uint32_t number, uint32_t parent,
                                     const std::map<std::string, uint32_t>& since);
  StoreBits Bits() const;

  Disk& disk_;
  const std::string root_;
  Random random_;
  wire::ShardMap shards_;
  std::vector<Tables> lanes_;
  std::vector<Key> keys_;
  uint32_t epoch_ = 0;
  uint32_t durable_ = 0;
  uint64_t step_ = 0;
  std::map<uint32_t, StoreBits> truth_;
};

}  // namespace strata
