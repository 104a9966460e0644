// GpuSets: documents in a GPU's memory, indexed there, and exact searches in them by two engines:
//
//   counting   a block of threads keeps the counters of one block of documents in shared memory and
//              has queries pass over them (count_search.h tells how)
//   scanning   128 queries' tokens are in shared memory and all documents pass over them
//
// Both find candidates, in steps that take in more and more documents:
//
//   sample     some documents are counted whole; the k-th best there is a threshold for the next
//   sharpen    documents that reach it are candidates, and make a better threshold
//   search     the rest; some hundred candidates a query
//   select     of those the best k, by similarity and then id
//
// Few queries are counted one by one, each by a kernel that does everything (gpu_few.cuh).
// In a build without CUDA, Open says so.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "base/thread/work_pool.h"
#include "kernels/setops/block_image.h"
#include "kernels/setops/set_block.h"
#include "kernels/setops/top_hits.h"
#include "strata/status.h"

namespace strata {

enum class GpuEngine : uint8_t { kCounting, kScanning };
// Those that documents are indexed for; counting alone takes half of the memory, and less time.
enum class GpuEngines : uint8_t { kBoth, kCounting };

struct GpuSearchMeans {
  GpuEngine engine = GpuEngine::kCounting;  // scanning only if it is there
  // Documents that can be answers, as AllowedBlock::allowed of each block; empty: all.
  std::span<const std::span<const uint64_t>> allowed = {};
};

// What searches on a GPU take beside documents. All GpuSets of a room are searched one after the
// other.
class GpuSearchRoom {
 public:
  // Of GPU memory, about; more for documents past 33,554,432, and for K past 512.
  static constexpr size_t kBytes = size_t{448} << 20;

  // kNotFound: no such GPU; kRefused: no memory.
  static Result<std::shared_ptr<GpuSearchRoom>> Make(int device);
  virtual ~GpuSearchRoom() = default;
};

class GpuSets {
 public:
  static constexpr size_t kLongestQuery = 254;  // an overlap fits a byte
  static constexpr size_t kMostBlocks = 65'536;
  static constexpr size_t kScanned = 128;  // queries at once
  static constexpr size_t kFew = 8;        // queries of a call, each of which is counted by itself

  // What a search has done.
  struct Counts {
    uint64_t candidates = 0;   // that were selected from
    uint64_t asked_again = 0;  // queries with more candidates than there was room for
    double load_ns = 0;        // until documents that it does not keep were in its memory
  };
  // When Open was done with a step, in ns since it began. The first three are of a room of its own.
  struct OpenSteps {
    double driver = 0;   // CUDA's, ready
    double context = 0;  // the GPU's, there
    double room = 0;     // there
    double memory = 0;   // the documents' lengths known, and memory there
    double sent = 0;     // all documents on their way
    double indexed = 0;  // documents searchable
    double all = 0;      // memory that was taken meanwhile given back
  };

  // For a process that does nothing but search on its GPUs, before it has other threads or anything
  // of CUDA's: kernels get one queue instead of eight, and a context is there some 50 ms sooner. If
  // CUDA_DEVICE_MAX_CONNECTIONS is set, it stays as it is.
  static void ExpectSearchesAlone();
  // Makes this process ready to use the GPU, once, which Open does otherwise: some tenths of a
  // second. Any thread.
  static Status Prepare(int device);
  // Copies the documents to the room's GPU and indexes them there, beside searches in others; the
  // pool's threads bring them into the form that it takes. They are not read later. kRefused: no
  // memory.
  static Result<std::unique_ptr<GpuSets>> Open(std::shared_ptr<GpuSearchRoom> room,
                                               const BlockSource& documents, WorkPool& pool,
                                               GpuEngines engines = GpuEngines::kBoth);
  // The same in a room of their own, which is made, and the process ready to use the GPU, while
  // documents are looked at. kNotFound: no such GPU.
  static Result<std::unique_ptr<GpuSets>> Open(int device, const BlockSource& documents,
                                               WorkPool& pool,
                                               GpuEngines engines = GpuEngines::kBoth);
  virtual ~GpuSets() = default;

  // The answer to each query, best first, as CountSearch and AppendStrangers give it. kInvalid: a
  // query of more than kLongestQuery tokens, or bits that are not those of the blocks. One thread
  // at a time.
  virtual Result<std::vector<std::vector<Hit>>> Search(const SetList& queries,
                                                       const SearchGoal& goal,
                                                       const GpuSearchMeans& means) = 0;
  // The same in all documents, by counting.
  Result<std::vector<std::vector<Hit>>> Search(const SetList& queries, const SearchGoal& goal) {
    return Search(queries, goal, {});
  }
  // Whether the scanning engine is there: if it was asked for, and for documents whose tokens are
  // all below SetBlock::kDirectTokens, and not all of these.
  virtual bool scans() const = 0;
  // Of the last search.
  virtual Counts counts() const = 0;
  // Of GPU memory for the blocks.
  virtual size_t bytes() const = 0;
  virtual OpenSteps steps() const { return {}; }
};

}  // namespace strata
