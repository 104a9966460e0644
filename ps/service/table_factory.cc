#include "ps/service/table_factory.h"

#include <fmt/format.h>

#include "base/human_text.h"
#include "cluster/cluster_config.h"
#include "storage/memory/host_table.h"
#include "storage/tiered/tiered_table.h"

namespace strata {
namespace {

// Of the memory limit, in percent; the rest is for batches on their way between the tiers. The cold
// tier needs about two bytes of index and filter for each of its rows.
constexpr uint64_t kWarmPercent = 42;
constexpr uint64_t kColdPercent = 42;

}  // namespace

Result<std::unique_ptr<TableFactory>> TableFactory::Create(const TableFactoryOptions& options) {
  std::unique_ptr<TableFactory> factory(new TableFactory(options));
  STRATA_TRY(factory->TakeGpus());
  factory->PlanBelowGpus();
  if (options.cold.empty()) return factory;
  STRATA_CHECK(options.memory_bytes_max >= kColdMemoryMin);
  const uint64_t percent = options.memory_bytes_max / 100;
  STRATA_ASSIGN(factory->cold_, RocksDb::Open({.folder = options.cold,
                                               .memory_bytes_max = percent * kColdPercent,
                                               .disk_bytes_max = options.cold_bytes_max}));
  STRATA_ASSIGN(factory->executor_, MakeThreadExecutor());
  factory->warm_ = std::make_unique<WarmShares>(percent * kWarmPercent);
  return factory;
}

Status TableFactory::TakeGpus() {
  if (options_.device.kind == DeviceKind::kCpu) return {};
  const bool is_free_to_choose = !options_.device.kind.has_value();
  auto gpus = GpuTables::Open({.ordinal = options_.device.ordinal,
                               .memory_bytes = options_.gpu_memory_bytes,
                               .lanes = options_.lanes});
  if (!gpus.ok()) {
    const StatusCode code = gpus.status().code();
    if (code == StatusCode::kInvalid) return gpus.status();  // of server.gpu_memory, which it names
    if (!is_free_to_choose) {
      return Status(code,
                    fmt::format("server.device (--device): {}; cpu keeps rows in host memory, "
                                "as auto does without a GPU",
                                gpus.status().message()));
    }
    const bool there_is_none = code == StatusCode::kNotFound;
    (there_is_none ? plan_ : warnings_)
        .push_back("device auto: host memory, as " + gpus.status().message());
    return {};
  }
  gpus_ = std::move(*gpus);
  plan_ = gpus_->plan();
  if (gpus_->unused() > 0) {
    const uint64_t unused = gpus_->unused();
    warnings_.push_back(fmt::format(
        "{} {} not used, as each lane has one GPU, and there {} {}: server.lanes = {} uses all",
        Counted(unused, "more GPU"), unused == 1 ? "is" : "are", options_.lanes == 1 ? "is" : "are",
        Counted(options_.lanes, "lane"), options_.lanes + unused));
  }
  return {};
}

void TableFactory::PlanBelowGpus() {
  if (gpus_ == nullptr) return;
  plan_.push_back(fmt::format(
      "each table: up to {} more of its GPU and as much pinned host memory for rows on their way",
      HumanBytes(gpus_->staging_bytes())));
  const uint64_t limit = options_.memory_bytes_max;
  if (options_.cold.empty()) {
    plan_.push_back(limit == 0 ? "host memory: rows that GPUs have no room for, without a limit"
                               : fmt::format("host memory: {} for rows that GPUs have no room for",
                                             HumanBytes(limit)));
    return;
  }
  plan_.push_back(fmt::format(
      "host memory: {} for rows that GPUs have no room for, {} for buffers of the disk's tier",
      HumanBytes(limit / 100 * kWarmPercent), HumanBytes(limit / 100 * kColdPercent)));
  plan_.push_back(fmt::format("disk: {} for rows beyond, {}", options_.cold,
                              options_.cold_bytes_max == 0
                                  ? "as long as there is room"
                                  : HumanBytes(options_.cold_bytes_max) + " at most"));
}

std::unique_ptr<LocalTable> TableFactory::Make(const TableSpec& spec, uint16_t lane) {
  std::unique_ptr<LowerTable> on_host = MakeOnHost(spec);
  if (gpus_ == nullptr) return on_host;
  const VictimOrder order = options_.policy.keep == KeepPolicy::kLfu ? VictimOrder::kLeastPushed
                                                                     : VictimOrder::kLeastRecent;
  return gpus_->MakeOver(spec, lane, std::move(on_host), order);
}

std::unique_ptr<LowerTable> TableFactory::MakeOnHost(const TableSpec& spec) {
  if (cold_ == nullptr) {
    return std::make_unique<HostTable>(
        spec, &budget_, gpus_ == nullptr ? RowOrder::kAsTheyCome : RowOrder::kByHome);
  }
  return std::make_unique<TieredTable>(spec, options_.policy, *warm_, *cold_, *executor_);
}

void TableFactory::BeginLimit() {
  if (cold_ != nullptr) cold_->BeginLimit();
  if (warm_ != nullptr) warm_->BeginLimit();
  if (options_.memory_bytes_max != 0) budget_.SetMax(options_.memory_bytes_max);
}

}  // namespace strata
