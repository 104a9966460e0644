#include "tests/storage/checkpoint_fixture.h"

#include <fmt/format.h>

#include "storage/checkpoint/checkpoint_files.h"
#include "storage/checkpoint/part_writer.h"

namespace strata {
namespace {

TableSpec Spec(const std::string& name, uint32_t dim, OptimizerKind optimizer,
               InitializerKind initializer) {
  return {.name = name,
          .dim = dim,
          .optimizer = {.kind = optimizer, .learning_rate = 0.05F},
          .initializer = {initializer, 0.5F},
          .seed = 20};
}

}  // namespace

Result<LocalTable*> TestTarget::Table(const TableSpec& spec) {
  auto& table = tables_[spec.name];
  if (!table) {
    table = std::make_unique<HostTable>(spec);
    table->SetEpoch(epoch_);
  }
  return table.get();
}

StoreBits TestTarget::Bits() const {
  StoreBits bits;
  for (const auto& [name, table] : tables_) bits[name] = BitsOfTable(*table);
  return bits;
}

CheckpointedLanes::CheckpointedLanes(Disk& disk, std::string root, uint64_t seed,
                                     std::vector<uint16_t> lanes_per_server)
    : disk_(disk),
      root_(std::move(root)),
      random_(seed),
      shards_(*wire::MakeShardMap(lanes_per_server)),
      lanes_(shards_.lanes.size()) {
  for (int i = 0; i < 300; ++i) keys_.push_back(random_.Next() >> random_.Below(60));
  MakeTable(Spec("a", 3, OptimizerKind::kAdam, InitializerKind::kUniform));
  MakeTable(Spec("b", 1, OptimizerKind::kSgd, InitializerKind::kNormal));
}

void CheckpointedLanes::MakeTable(const TableSpec& spec) {
  for (Tables& tables : lanes_) {
    tables[spec.name] = std::make_unique<HostTable>(spec);
    tables[spec.name]->SetEpoch(epoch_);
  }
}

void CheckpointedLanes::DropAndMakeTable() {
  TableSpec spec =
      Spec("b", static_cast<uint32_t>(1 + random_.Below(3)),
           OptimizerKind{static_cast<uint8_t>(1 + random_.Below(9))}, InitializerKind::kZero);
  spec.value_type = ElementType{static_cast<uint8_t>(1 + random_.Below(3))};
  spec.state_type = ElementType{static_cast<uint8_t>(1 + random_.Below(3))};
  MakeTable(spec);
}

void CheckpointedLanes::Write(uint32_t batches) {
  for (; batches > 0; --batches) {
    const std::string name = random_.Below(3) == 0 ? "b" : "a";
    const bool erase = random_.Below(4) == 0;
    ++step_;
    std::vector<std::vector<Key>> keys(lanes_.size());
    for (uint64_t n = random_.Below(40); n > 0; --n) {
      const Key key = keys_[random_.Below(keys_.size())];
      keys[shards_.LaneOf(key)].push_back(key);
    }
    for (size_t lane = 0; lane < lanes_.size(); ++lane) {
      LocalTable& table = *lanes_[lane].at(name);
      std::vector<float> gradients(keys[lane].size() * table.spec().dim);
      for (float& g : gradients) g = static_cast<float>(random_.Uniform()) - 0.5F;
      const GradientPart part{keys[lane], gradients};
      if (erase) {
        ASSERT_TRUE(table.Erase(keys[lane]).ok());
      } else {
        ASSERT_TRUE(table.ApplyGradients({&part, 1}, step_).ok());
      }
    }
  }
}

StoreBits CheckpointedLanes::Bits() const {
  StoreBits bits;
  for (const Tables& tables : lanes_) {
    for (const auto& [name, table] : tables) bits[name].merge(BitsOfTable(*table));
  }
  return bits;
}

std::string CheckpointedLanes::LaneImage(uint32_t number, size_t lane) {
  return fmt::format("image of lane {} at checkpoint {}", lane, number);
}

Result<format::PartEntry> CheckpointedLanes::SaveLane(
    size_t lane, uint32_t number, uint32_t parent, const std::map<std::string, uint32_t>& since) {
  const format::PartName name{.number = number,
                              .parent = parent,
                              .server = shards_.lanes[lane].server,
                              .lane = shards_.lanes[lane].lane,
                              .cluster = kCluster};
  STRATA_ASSIGN(const auto writer, PartWriter::Create(disk_, root_, name));
  const std::string image = LaneImage(number, lane);
  STRATA_TRY(writer->AddLaneImage(std::as_bytes(std::span(image))));
  for (auto& [table_name, table] : lanes_[lane]) {
    const TableId id = table->spec().id();
    STRATA_TRY(writer->AddTable(table->spec(), since.at(table_name)));
    STRATA_TRY(writer->AddErased(id, table->SnapshotErased()));
    ScanPage page;
    page.rows_max = 16;
    do {
      STRATA_TRY(table->SnapshotPage(page));
      STRATA_TRY(writer->AddRows(id, page));
      if (random_.Below(3) == 0) Write(1);
    } while (!page.done);
    table->EndSnapshot();
  }
  return writer->Finish();
}

Status CheckpointedLanes::Take(uint32_t number, bool full, std::vector<Attachment> attachments,
                               const std::string& job) {
  truth_[number] = Bits();
  const uint32_t parent = full ? 0 : durable_;
  std::vector<std::map<std::string, uint32_t>> since(lanes_.size());
  for (size_t lane = 0; lane < lanes_.size(); ++lane) {
    for (auto& [name, table] : lanes_[lane]) {
      since[lane][name] = table->BeginSnapshot(parent);
      table->SetEpoch(number);
    }
  }
  epoch_ = number;
  std::vector<format::PartEntry> parts;
  for (size_t lane = 0; lane < lanes_.size(); ++lane) {
    STRATA_ASSIGN(format::PartEntry part, SaveLane(lane, number, parent, since[lane]));
    parts.push_back(std::move(part));
  }
  STRATA_TRY(CommitCheckpoint(disk_, root_,
                              {.writer = {},
                               .number = number,
                               .parent = 0,
                               .cluster = kCluster,
                               .wall_unix_ns = 5,
                               .job = job,
                               .shards = shards_,
                               .parts = std::move(parts),
                               .attachments = {}},
                              attachments)
                 .status());
  durable_ = number;
  for (Tables& tables : lanes_) {
    for (auto& [name, table] : tables) table->ForgetErased(number);
  }
  return {};
}

}  // namespace strata
