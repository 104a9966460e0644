#include <fmt/format.h>

#include <algorithm>

#include "kernels/core/device_memory.cuh"
#include "kernels/setops/gpu_count.cuh"
#include "kernels/setops/gpu_select.cuh"
#include "kernels/setops/gpu_sets.h"
#include "kernels/setops/strangers.h"

namespace strata {
namespace {

using gpu_sets::Block;
using gpu_sets::Candidate;
using gpu_sets::kBuckets;
using gpu_sets::kLengths;
using gpu_sets::kMostSelected;
using gpu_sets::kQueriesAtOnce;
using gpu_sets::kRoom;

// What a block of documents has in the memory of a GPU.
struct BlockMemory {
  DeviceMemory<uint32_t> starts;
  DeviceMemory<uint16_t> postings;
  DeviceMemory<Token> rare;
  DeviceMemory<uint32_t> frequent;
  DeviceMemory<uint64_t> bits;
  DeviceMemory<uint32_t> lengths;
  DeviceMemory<DocumentId> ids;

  size_t bytes() const {
    return starts.size() * 4 + postings.size() * 2 + rare.size() * 4 + frequent.size() * 4 +
           bits.size() * 8 + lengths.size() * 4 + ids.size() * 8;
  }
};

template <typename T>
Status Upload(DeviceMemory<T>& memory, std::span<const T> values, cudaStream_t stream) {
  STRATA_TRY(memory.Make(values.size(), "memory of a GPU for documents"));
  return memory.Set(values, stream);
}

Result<Block> UploadBlock(const SetBlock& block, BlockMemory& memory, cudaStream_t stream) {
  std::vector<uint32_t> lengths;
  for (const SetBlock::Run& run : block.runs()) {
    lengths.insert(lengths.end(), run.end - run.begin, run.length);
  }
  STRATA_TRY(Upload(memory.starts, block.starts(), stream));
  STRATA_TRY(Upload(memory.postings, block.postings(), stream));
  STRATA_TRY(Upload(memory.rare, block.rare(), stream));
  STRATA_TRY(Upload(memory.frequent, block.frequent(), stream));
  STRATA_TRY(Upload(memory.bits, block.bits(), stream));
  STRATA_TRY(Upload(memory.lengths, std::span(std::as_const(lengths)), stream));
  STRATA_TRY(Upload(memory.ids, block.ids(), stream));
  STRATA_TRY(FromCuda(cudaStreamSynchronize(stream), "copying documents to the GPU"));
  return Block{memory.starts.data(),
               memory.postings.data(),
               memory.rare.data(),
               memory.frequent.data(),
               reinterpret_cast<const uint32_t*>(memory.bits.data()),
               memory.lengths.data(),
               memory.ids.data(),
               block.direct(),
               static_cast<uint32_t>(block.rare().size()),
               static_cast<uint32_t>(block.frequent().size()),
               static_cast<uint32_t>(block.size()),
               static_cast<uint32_t>(block.words() * 2)};
}

class SetsOnGpu final : public GpuSets {
 public:
  SetsOnGpu(int device, std::span<const SetBlock> blocks) : device_(device), blocks_(blocks) {}
  ~SetsOnGpu() override {
    const DeviceScope scope(device_);
    if (stream_ != nullptr) (void)cudaStreamDestroy(stream_);
  }

  Status Start() {
    const DeviceScope scope(device_);
    STRATA_TRY(FromCuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "a stream"));
    STRATA_TRY(
        FromCuda(cudaDeviceGetAttribute(&processors_, cudaDevAttrMultiProcessorCount, device_),
                 "asking for processors"));
    memory_ = std::vector<BlockMemory>(blocks_.size());
    std::vector<Block> made;
    for (size_t i = 0; i < blocks_.size(); ++i) {
      documents_ += blocks_[i].size();
      longest_ = std::max(longest_, blocks_[i].longest());
      STRATA_ASSIGN(made.emplace_back(), UploadBlock(blocks_[i], memory_[i], stream_));
    }
    STRATA_TRY(Upload(of_blocks_, std::span(std::as_const(made)), stream_));
    const size_t queries = kQueriesAtOnce;
    STRATA_TRY(offsets_.Make(queries + 1, "queries"));
    STRATA_TRY(tokens_.Make(queries * kLongestQuery, "queries"));
    STRATA_TRY(at_least_.Make(queries, "thresholds"));
    STRATA_TRY(overlaps_.Make(queries * kLengths, "thresholds"));
    STRATA_TRY(buckets_.Make(queries * kBuckets, "samples"));
    STRATA_TRY(candidates_.Make(std::max<size_t>(queries * kRoom, documents_), "candidates"));
    STRATA_TRY(found_.Make(queries, "candidates"));
    STRATA_TRY(answers_.Make(queries * kMostSelected, "answers"));
    STRATA_TRY(answered_.Make(queries, "answers"));
    STRATA_TRY(on_host_.Make(queries * kMostSelected, "answers"));
    STRATA_TRY(counts_on_host_.Make(2 * queries, "answers"));
    return FromCuda(cudaStreamSynchronize(stream_), "copying documents to the GPU");
  }

  Result<std::vector<std::vector<Hit>>> Search(const SetList& queries,
                                               const SearchGoal& goal) override {
    const DeviceScope scope(device_);
    counts_ = {};
    for (size_t i = 0; i < queries.size(); ++i) {
      if (queries[i].size() <= kLongestQuery) continue;
      return Invalid(
          fmt::format("query {} has {} tokens; a GPU counts at most {}: search it on the CPU", i,
                      queries[i].size(), kLongestQuery));
    }
    std::vector<std::vector<Hit>> answers(queries.size());
    for (size_t begin = 0; begin < queries.size(); begin += kQueriesAtOnce) {
      const size_t count = std::min<size_t>(kQueriesAtOnce, queries.size() - begin);
      const SetList part{queries.offsets.subspan(begin, count + 1), queries.tokens};
      STRATA_TRY(SearchSome(part, goal, std::span(answers).subspan(begin, count)));
    }
    return answers;
  }
  Counts counts() const override { return counts_; }
  size_t bytes() const override {
    size_t sum = 0;
    for (const BlockMemory& memory : memory_) sum += memory.bytes();
    return sum;
  }

 private:
  gpu_sets::Thresholds thresholds() const {
    return {at_least_.data(), overlaps_.data(), buckets_.data()};
  }

  // At most kQueriesAtOnce.
  Status SearchSome(const SetList& queries, const SearchGoal& goal,
                    std::span<std::vector<Hit>> answers) {
    std::vector<uint64_t> offsets;
    for (const uint64_t offset : queries.offsets) offsets.push_back(offset - queries.offsets[0]);
    STRATA_TRY(offsets_.Set(offsets, stream_));
    STRATA_TRY(tokens_.Set(queries.tokens.subspan(queries.offsets[0], offsets.back()), stream_));
    const gpu_sets::Ranges ranges{offsets_.data(), tokens_.data(),
                                  static_cast<uint32_t>(queries.size())};
    const bool selects = goal.k <= kMostSelected && goal.k > 0 && documents_ > 0;
    if (selects) {
      STRATA_TRY(Collect(ranges, goal, kRoom));
      const gpu_sets::SelectJob job{.blocks = of_blocks_.data(),
                                    .queries = ranges,
                                    .metric = goal.metric,
                                    .k = static_cast<uint32_t>(goal.k),
                                    .equal_keys_are_equal = longest_ <= 255,
                                    .candidates = candidates_.data(),
                                    .found = found_.data(),
                                    .answers = answers_.data(),
                                    .counts = answered_.data()};
      STRATA_TRY(FromCuda(gpu_sets::Select(job, stream_), "selecting"));
      STRATA_TRY(answers_.Get(on_host_.values().first(queries.size() * goal.k), stream_));
      STRATA_TRY(answered_.Get(counts_on_host_.values().first(queries.size()), stream_));
      STRATA_TRY(
          found_.Get(counts_on_host_.values().subspan(queries.size(), queries.size()), stream_));
      STRATA_TRY(FromCuda(cudaStreamSynchronize(stream_), "searching"));
    }
    const std::vector<AllowedBlock> all = AllowAll(blocks_);
    for (size_t i = 0; i < queries.size(); ++i) {
      const uint32_t count = selects ? counts_on_host_.values()[i] : gpu_sets::kTooMany;
      if (count == gpu_sets::kTooMany) {
        counts_.asked_again += static_cast<uint64_t>(selects);
        wide_.push_back(i);
        continue;
      }
      counts_.candidates += counts_on_host_.values()[queries.size() + i];
      const auto found = on_host_.values().subspan(i * goal.k, count);
      answers[i].assign(found.begin(), found.end());
      if (count < goal.k && goal.at_least.num == 0) {
        AppendStrangers(all, goal.k - count, answers[i]);
      }
    }
    for (const size_t i : std::exchange(wide_, {})) {
      STRATA_TRY(SearchWide(queries, i, goal, selects, answers[i]));
    }
    return {};
  }

  // A query by itself, with room for every document; the host selects.
  Status SearchWide(const SetList& queries, size_t query, const SearchGoal& goal,
                    bool has_threshold, std::vector<Hit>& answer) {
    const auto tokens = queries[query];
    TopHits hits(goal, static_cast<uint32_t>(tokens.size()));
    if (documents_ > 0) {
      const std::vector<uint64_t> offsets{0, tokens.size()};
      STRATA_TRY(offsets_.Set(offsets, stream_));
      STRATA_TRY(tokens_.Set(tokens, stream_));
      const gpu_sets::Ranges range{offsets_.data(), tokens_.data(), 1};
      const auto room = static_cast<uint32_t>(documents_);
      STRATA_TRY(has_threshold ? Collect(range, goal, room) : CollectAll(range, goal, room));
      std::vector<uint32_t> found(1);
      STRATA_TRY(found_.Get(found, stream_));
      STRATA_TRY(FromCuda(cudaStreamSynchronize(stream_), "searching"));
      std::vector<Candidate> candidates(found[0]);
      STRATA_TRY(candidates_.Get(candidates, stream_));
      STRATA_TRY(FromCuda(cudaStreamSynchronize(stream_), "searching"));
      counts_.candidates += candidates.size();
      for (const Candidate& candidate : candidates) {
        const SetBlock& block = blocks_[candidate.document >> 16];
        const uint32_t place = candidate.document & 0xFFFF;
        const auto run =
            std::upper_bound(block.runs().begin(), block.runs().end(), place,
                             [](uint32_t of, const SetBlock::Run& one) { return of < one.end; });
        hits.Offer({block.ids()[place], candidate.overlap, run->length});
      }
    }
    answer = TakeAnswer(AllowAll(blocks_), hits);
    return {};
  }

  // Fills the candidates, with better and better thresholds: by all documents of some blocks, then
  // by the candidates of some more.
  Status Collect(const gpu_sets::Ranges& queries, const SearchGoal& goal, uint32_t room) {
    constexpr uint32_t kFewQueries = 16;  // a sample of more blocks takes them no longer
    constexpr uint32_t kSampled = 4;
    constexpr uint32_t kSharpened = 36;
    const uint32_t wanted = queries.queries <= kFewQueries ? kSharpened : kSampled;
    const auto blocks = static_cast<uint32_t>(blocks_.size());
    const uint32_t sampled = std::min(wanted, blocks);
    const uint32_t sharpened = std::min(kSharpened, blocks);
    const size_t buckets = size_t{queries.queries} * kBuckets * sizeof(uint32_t);
    STRATA_TRY(FromCuda(cudaMemsetAsync(buckets_.data(), 0, buckets, stream_), "samples"));
    STRATA_TRY(Count(gpu_sets::Purpose::kSample, queries, goal, 0, sampled, room));
    STRATA_TRY(SetThresholds(queries, goal, static_cast<uint32_t>(goal.k)));
    STRATA_TRY(Forget(queries));
    if (sampled < sharpened) {
      STRATA_TRY(Count(gpu_sets::Purpose::kSharpen, queries, goal, sampled, sharpened, room));
      STRATA_TRY(SetThresholds(queries, goal, static_cast<uint32_t>(goal.k)));
    }
    STRATA_TRY(Count(gpu_sets::Purpose::kSearch, queries, goal, 0, sampled, room));
    return Count(gpu_sets::Purpose::kSearch, queries, goal, sharpened, blocks, room);
  }
  // The same with the threshold of the goal alone.
  Status CollectAll(const gpu_sets::Ranges& queries, const SearchGoal& goal, uint32_t room) {
    STRATA_TRY(SetThresholds(queries, goal, 0));
    STRATA_TRY(Forget(queries));
    const auto blocks = static_cast<uint32_t>(blocks_.size());
    return Count(gpu_sets::Purpose::kSearch, queries, goal, 0, blocks, room);
  }
  Status Forget(const gpu_sets::Ranges& queries) {
    const size_t bytes = queries.queries * sizeof(uint32_t);
    return FromCuda(cudaMemsetAsync(found_.data(), 0, bytes, stream_), "candidates");
  }
  Status SetThresholds(const gpu_sets::Ranges& queries, const SearchGoal& goal, uint32_t k) {
    return FromCuda(
        gpu_sets::SetThresholds(queries, goal.metric, k, goal.at_least, thresholds(), stream_),
        "thresholds");
  }
  // In blocks first to last - 1.
  Status Count(gpu_sets::Purpose purpose, const gpu_sets::Ranges& queries, const SearchGoal& goal,
               uint32_t first, uint32_t last, uint32_t room) {
    if (first >= last) return {};
    // A block of threads gets many queries, so that its block of documents stays at hand, unless
    // some of the GPU would have nothing to do.
    constexpr uint32_t kQueriesEach = 50;
    constexpr uint32_t kWaves = 6;
    const auto wanted = static_cast<uint32_t>(processors_) * kWaves;
    const uint32_t each =
        std::clamp<uint32_t>(queries.queries * (last - first) / wanted, 1, kQueriesEach);
    const gpu_sets::CountJob job{
        .blocks = of_blocks_.data(),
        .first_block = first,
        .blocks_count = last - first,
        .queries = queries,
        .queries_each = each,
        .metric = goal.metric,
        .enough = static_cast<uint32_t>(std::min<size_t>(goal.k, kMostSelected)),
        .thresholds = thresholds(),
        .candidates = candidates_.data(),
        .room = room,
        .found = found_.data()};
    return FromCuda(gpu_sets::Count(purpose, job, stream_), "counting");
  }
  const int device_;
  const std::span<const SetBlock> blocks_;
  size_t documents_ = 0;
  uint32_t longest_ = 0;  // document
  int processors_ = 0;
  cudaStream_t stream_ = nullptr;
  std::vector<BlockMemory> memory_;
  DeviceMemory<Block> of_blocks_;
  DeviceMemory<uint64_t> offsets_;
  DeviceMemory<Token> tokens_;
  DeviceMemory<Fraction> at_least_;
  DeviceMemory<uint8_t> overlaps_;
  DeviceMemory<uint32_t> buckets_;
  DeviceMemory<Candidate> candidates_;
  DeviceMemory<uint32_t> found_;
  DeviceMemory<Hit> answers_;
  DeviceMemory<uint32_t> answered_;
  PinnedMemory<Hit> on_host_;
  PinnedMemory<uint32_t> counts_on_host_;  // answers' and then candidates'
  std::vector<size_t> wide_;
  Counts counts_;
};

}  // namespace

Result<std::unique_ptr<GpuSets>> GpuSets::Open(int device, std::span<const SetBlock> blocks) {
  if (blocks.size() > kMostBlocks) {
    return Refused(
        fmt::format("{} blocks of documents; a GPU takes at most {}", blocks.size(), kMostBlocks));
  }
  STRATA_TRY(CheckDevice(device));
  auto made = std::make_unique<SetsOnGpu>(device, blocks);
  STRATA_TRY(made->Start());
  return std::unique_ptr<GpuSets>(std::move(made));
}

}  // namespace strata
