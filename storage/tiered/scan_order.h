// ScanOrder: the hashes of the rows in memory, in order, for scans by rising hash. They lie in
// buckets by their upper bits, and a bucket is sorted when a scan comes to it: a page costs about
// its rows, however many scans there are and wherever each of them is.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace strata {

// Not thread-safe.
class ScanOrder {
 public:
  bool empty() const { return buckets_.empty(); }
  // Empty buckets for hashes to come.
  void Begin();
  // A row that came, whether or not its hash is there already. Only after Begin.
  void Add(uint64_t hash);
  void Clear();
  uint64_t size() const { return size_; }  // repeats counted

  // What a bucket has from a hash on, ascending and each once, and the highest hash that it is for.
  struct Range {
    std::span<const uint64_t> hashes;
    uint64_t last = 0;
  };
  Range From(uint64_t hash);

 private:
  struct Bucket {
    std::vector<uint64_t> hashes;
    bool is_sorted = true;
  };
  std::vector<Bucket> buckets_;
  uint64_t size_ = 0;
};

}  // namespace strata
