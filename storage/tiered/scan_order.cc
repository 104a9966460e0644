#include "storage/tiered/scan_order.h"

#include <algorithm>

namespace strata {
namespace {

constexpr int kBucketBits = 12;
constexpr int kShift = 64 - kBucketBits;

}  // namespace

void ScanOrder::Begin() {
  Clear();
  buckets_.resize(size_t{1} << kBucketBits);
}

void ScanOrder::Add(uint64_t hash) {
  Bucket& bucket = buckets_[hash >> kShift];
  bucket.hashes.push_back(hash);
  bucket.is_sorted = false;
  ++size_;
}

void ScanOrder::Clear() {
  buckets_ = {};
  size_ = 0;
}

ScanOrder::Range ScanOrder::From(uint64_t hash) {
  Bucket& bucket = buckets_[hash >> kShift];
  std::vector<uint64_t>& hashes = bucket.hashes;
  if (!bucket.is_sorted) {
    std::sort(hashes.begin(), hashes.end());
    const auto end = std::unique(hashes.begin(), hashes.end());
    size_ -= static_cast<uint64_t>(hashes.end() - end);
    hashes.erase(end, hashes.end());
    bucket.is_sorted = true;
  }
  const auto first = std::lower_bound(hashes.begin(), hashes.end(), hash);
  return {std::span<const uint64_t>(first, hashes.end()), hash | ((uint64_t{1} << kShift) - 1)};
}

}  // namespace strata
