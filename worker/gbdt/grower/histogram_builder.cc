#include "worker/gbdt/grower/histogram_builder.h"

#include <algorithm>

#include "kernels/tree/histogram/histogram.h"

namespace strata {
namespace {

constexpr size_t kPartRowsMin = 1024;  // fewer are added up faster than two histograms

}  // namespace

void HistogramBuilder::Build(std::span<const uint32_t> rows, const FixedGradients& gradients,
                             std::span<const uint8_t> block_used,
                             std::span<GradientSums> histogram) {
  const std::span<const BinBlock> blocks = bins_.blocks();
  const auto used =
      static_cast<size_t>(std::ranges::count_if(block_used, [](uint8_t u) { return u != 0; }));
  const size_t wanted = (threads_ + std::max<size_t>(used, 1) - 1) / std::max<size_t>(used, 1);
  parts_ = std::clamp<size_t>(std::min(wanted, rows.size() / kPartRowsMin), 1, threads_);
  if (others_.size() + 1 < parts_) {
    others_.resize(parts_ - 1, std::vector<GradientSums>(bins_.histogram_bins()));
  }
  pool_.Run(blocks.size() * parts_, [&](size_t task) {
    const size_t block = task / parts_;
    const size_t part = task % parts_;
    if (block_used[block] == 0) return;
    const size_t begin = rows.size() * part / parts_;
    const size_t count = rows.size() * (part + 1) / parts_ - begin;
    BuildBlockHistogram(bins_, blocks[block], rows.subspan(begin, count),
                        gradients.Part(begin, count),
                        part == 0 ? histogram : std::span<GradientSums>(others_[part - 1]));
  });
}

void HistogramBuilder::Finish(size_t begin, size_t count, std::span<GradientSums> histogram) const {
  for (size_t part = 1; part < parts_; ++part) {
    AddHistogram(histogram.subspan(begin, count),
                 std::span<const GradientSums>(others_[part - 1]).subspan(begin, count));
  }
}

}  // namespace strata
