#include "ps/service/search_means.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "base/human_text.h"
#include "storage/itemset/measure_rates.h"

namespace strata {

Result<std::unique_ptr<ServerSearch>> ServerSearch::Start(const ServerSearchOptions& options) {
  std::unique_ptr<ServerSearch> made(new ServerSearch(options));
  const int processors = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  const int helpers = std::max(0, processors - 2 * options.lanes);
  made->threads_ = static_cast<size_t>(1 + helpers / options.lanes);
  STRATA_ASSIGN(made->pool_, WorkPool::Start("search", helpers));
  STRATA_TRY(made->TakeGpus());
  return made;
}

// Half of what batches of tables need not have.
Status ServerSearch::TakeGpus() {
  for (const GpuLeft& gpu : options_.gpus) {
    const uint64_t bytes = (gpu.bytes - std::min(gpu.bytes, GpuLeft::kForBatches)) / 2;
    gpus_.emplace_back();
    if (bytes < ItemGpuOptions::kBytesMin) {
      plan_.push_back(fmt::format(
          "GPU {}: {} of what is left for collections of item sets, which need {}: they are "
          "searched on the CPU; a smaller server.gpu_memory leaves more",
          gpu.ordinal, HumanBytes(bytes), HumanBytes(ItemGpuOptions::kBytesMin)));
      continue;
    }
    const auto divided = ItemGpuOptions::Divide(gpu.ordinal, bytes);
    plan_.push_back(fmt::format(
        "GPU {}: up to {} of what is left for collections of item sets: {} for segments, {} for "
        "documents that pass through, {} for searches",
        gpu.ordinal, HumanBytes(bytes), HumanBytes(divided.segments_bytes_max),
        HumanBytes(divided.passing_bytes_max), HumanBytes(GpuSearchRoom::kBytes)));
    STRATA_ASSIGN(gpus_.back(), ItemGpu::Start(divided));
  }
  return {};
}

// Those of the GPU take longer, as they need its memory first.
void ServerSearch::Measure() {
  rates_[0] = MeasureSearchRates(*options_.clock);
  measured_.store(&rates_[0], std::memory_order_release);
  const auto gpu = std::ranges::find_if(gpus_, [](const auto& of) { return of != nullptr; });
  if (gpu == gpus_.end()) return;
  const Result<GpuRates> measured = MeasureGpuRates(**gpu, *pool_, *options_.clock);
  if (!measured.ok()) return;
  rates_[1] = rates_[0];
  rates_[1].gpu = *measured;
  measured_.store(&rates_[1], std::memory_order_release);
}

SearchMeans ServerSearch::Means(uint16_t lane) {
  if (!options_.rates) {
    std::call_once(asked_, [this] { measurer_ = std::jthread([this] { Measure(); }); });
  }
  return {.rates = options_.rates.value_or(SearchRates()),
          .pool = pool_.get(),
          .threads = threads_,
          .clock = options_.clock,
          .gpu = nullptr,
          .items = gpus_.empty() ? nullptr : gpus_[lane % gpus_.size()].get(),
          .measured = &measured_};
}

}  // namespace strata
