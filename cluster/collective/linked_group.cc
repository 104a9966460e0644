#include "cluster/collective/linked_group.h"

#include <fmt/format.h>

#include <algorithm>

#include "cluster/collective/bruck_allgather.h"
#include "cluster/collective/halving_reduce_scatter.h"

namespace strata {
namespace {

constexpr uint8_t kSmallDetail = 1 << 4;
constexpr uint8_t kLargeDetail = 2 << 4;

}  // namespace

LinkedGroup::LinkedGroup(Exchanger& exchanger, HalvingForm form)
    : exchanger_(exchanger), form_(form) {}

Status LinkedGroup::Allreduce(std::span<float> data, ReduceOp op) {
  return ReduceBytes(std::as_writable_bytes(data), MakeReduction<float>(op));
}

Status LinkedGroup::Allreduce(std::span<double> data, ReduceOp op) {
  return ReduceBytes(std::as_writable_bytes(data), MakeReduction<double>(op));
}

Status LinkedGroup::Allreduce(std::span<int64_t> data, ReduceOp op) {
  return ReduceBytes(std::as_writable_bytes(data), MakeReduction<int64_t>(op));
}

template <typename Body>
Status LinkedGroup::Run(CollectiveKind kind, uint8_t detail, const Body& body) {
  if (!failure_.ok()) return failure_;
  ExchangeTag tag{.kind = kind, .detail = detail, .call = calls_++, .step = 0};
  failure_ = body(&tag);
  return failure_;
}

Status LinkedGroup::ReduceBytes(std::span<std::byte> data, const Reduction& reduction) {
  if (world() == 1) return failure_;
  const bool small = data.size() < kSmallAllreduceBytes ||
                     data.size() / reduction.element_bytes < static_cast<size_t>(world());
  const uint8_t detail = reduction.detail | (small ? kSmallDetail : kLargeDetail);
  return Run(CollectiveKind::kAllreduce, detail, [&](ExchangeTag* tag) {
    return small ? SmallAllreduce(data, reduction, tag) : LargeAllreduce(data, reduction, tag);
  });
}

Status LinkedGroup::SmallAllreduce(std::span<std::byte> data, const Reduction& reduction,
                                   ExchangeTag* tag) {
  const auto n = static_cast<size_t>(world());
  const size_t bytes = data.size();
  offsets_.resize(n + 1);
  for (size_t r = 0; r <= n; ++r) offsets_[r] = r * bytes;
  if (scratch_.size() < n * bytes) scratch_.resize(n * bytes);
  const std::span<std::byte> inputs = std::span(scratch_).first(n * bytes);
  std::ranges::copy(data, BytesOf(inputs, offsets_, {rank(), 1}).begin());
  STRATA_TRY(BruckAllgather(exchanger_, tag, inputs, offsets_));
  std::ranges::copy(inputs.first(bytes), data.begin());
  for (int r = 1; r < world(); ++r) {
    reduction.apply(data, BytesOf<std::byte>(inputs, offsets_, {r, 1}));
  }
  return {};
}

Status LinkedGroup::LargeAllreduce(std::span<std::byte> data, const Reduction& reduction,
                                   ExchangeTag* tag) {
  EqualBlocks(data.size() / reduction.element_bytes, reduction.element_bytes, world(), &offsets_);
  STRATA_TRY(HalvingReduceScatter(exchanger_, form_, reduction, tag, data, offsets_, &scratch_));
  return BruckAllgather(exchanger_, tag, data, offsets_);
}

Status LinkedGroup::Allgather(std::span<const std::byte> mine,
                              std::vector<std::vector<std::byte>>* all) {
  if (world() == 1) {
    all->assign(1, std::vector<std::byte>(mine.begin(), mine.end()));
    return failure_;
  }
  return Run(CollectiveKind::kAllgather, 0, [&](ExchangeTag* tag) -> Status {
    const auto n = static_cast<size_t>(world());
    std::vector<uint64_t> sizes(n);
    sizes[static_cast<size_t>(rank())] = mine.size();
    EqualBlocks(n, sizeof(uint64_t), world(), &offsets_);
    STRATA_TRY(BruckAllgather(exchanger_, tag, std::as_writable_bytes(std::span(sizes)), offsets_));
    uint64_t total = 0;
    for (size_t r = 0; r < n; ++r) {
      offsets_[r] = total;
      if (sizes[r] > kAllgatherBytesMax - total) {
        return Refused(fmt::format("allgather of more than {} bytes in all: rank {} brings {}",
                                   kAllgatherBytesMax, r, sizes[r]));
      }
      total += sizes[r];
    }
    offsets_[n] = total;
    return GatherBytes(mine, all, tag);
  });
}

Status LinkedGroup::GatherBytes(std::span<const std::byte> mine,
                                std::vector<std::vector<std::byte>>* all, ExchangeTag* tag) {
  if (scratch_.size() < offsets_.back()) scratch_.resize(offsets_.back());
  const std::span<std::byte> blocks = std::span(scratch_).first(offsets_.back());
  std::ranges::copy(mine, BytesOf(blocks, offsets_, {rank(), 1}).begin());
  STRATA_TRY(BruckAllgather(exchanger_, tag, blocks, offsets_));
  all->resize(static_cast<size_t>(world()));
  for (int r = 0; r < world(); ++r) {
    const auto block = BytesOf<std::byte>(blocks, offsets_, {r, 1});
    (*all)[static_cast<size_t>(r)].assign(block.begin(), block.end());
  }
  return {};
}

}  // namespace strata
