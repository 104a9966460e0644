#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "kernels/core/device_memory.cuh"
#include "kernels/setops/gpu_count.cuh"
#include "kernels/setops/gpu_index.cuh"
#include "kernels/setops/gpu_scan.cuh"
#include "kernels/setops/gpu_select.cuh"
#include "kernels/setops/gpu_sets.h"

namespace strata {
namespace {

using gpu_sets::Candidate;
using gpu_sets::kBuckets;
using gpu_sets::kLengths;
using gpu_sets::kMostSelected;
using gpu_sets::kQueriesAtOnce;
using gpu_sets::kRoom;

static_assert(gpu_sets::kScanQueries == GpuSets::kScanned);

constexpr size_t kBlockBits = SetBlock::kMostDocuments / 32;  // words of 32, by block

// Memory that is made larger when it is too small.
template <typename Memory>
class Growing {
 public:
  Status Fit(size_t count, const char* what) {
    if (count <= size_ && memory_ != nullptr) return {};
    memory_ = std::make_unique<Memory>();
    size_ = 0;
    STRATA_TRY(memory_->Make(count, what));
    size_ = count;
    return {};
  }
  size_t size() const { return size_; }
  Memory* operator->() const { return memory_.get(); }

 private:
  std::unique_ptr<Memory> memory_;
  size_t size_ = 0;
};

// What the host has to know of documents now and then: of queries that have too many candidates or
// too few.
class Places {
 public:
  Status Fetch(const gpu_sets::GpuIndex& index, cudaStream_t stream) {
    if (!blocks_.empty() || index.blocks() == 0) return {};
    std::vector<gpu_sets::Block> on_gpu(index.blocks());
    const auto get = [&](auto& values, const auto* from) {
      return FromCuda(cudaMemcpyAsync(values.data(), from, values.size() * sizeof(*from),
                                      cudaMemcpyDeviceToHost, stream),
                      "fetching documents' ids");
    };
    STRATA_TRY(get(on_gpu, index.of_blocks()));
    STRATA_TRY(FromCuda(cudaStreamSynchronize(stream), "fetching documents' ids"));
    std::vector<OfBlock> blocks(index.blocks());
    for (size_t i = 0; i < blocks.size(); ++i) {
      blocks[i].ids.resize(on_gpu[i].size);
      blocks[i].lengths.resize(on_gpu[i].size);
      STRATA_TRY(get(blocks[i].ids, on_gpu[i].ids));
      STRATA_TRY(get(blocks[i].lengths, on_gpu[i].lengths));
    }
    STRATA_TRY(FromCuda(cudaStreamSynchronize(stream), "fetching documents' ids"));
    blocks_ = std::move(blocks);
    return {};
  }
  Hit HitOf(const Candidate& candidate) const {
    const OfBlock& block = blocks_[candidate.document >> 16];
    const uint32_t place = candidate.document & 0xFFFF;
    return {block.ids[place], candidate.overlap, block.lengths[place]};
  }
  // As strata::AppendStrangers.
  void AppendStrangers(std::span<const std::span<const uint64_t>> allowed, size_t count,
                       std::vector<Hit>& answer) const {
    std::vector<DocumentId> known;
    for (const Hit& hit : answer) known.push_back(hit.id);
    std::sort(known.begin(), known.end());
    std::vector<Hit> smallest;
    const auto by_id = [](const Hit& a, const Hit& b) { return a.id < b.id; };
    const auto keep = [&] {
      if (smallest.size() <= count) return;
      const auto last = smallest.begin() + static_cast<ptrdiff_t>(count);
      std::nth_element(smallest.begin(), last, smallest.end(), by_id);
      smallest.erase(last, smallest.end());
    };
    constexpr size_t kSpare = 4096;
    std::optional<DocumentId> largest;  // id that can still be an answer
    for (size_t b = 0; b < blocks_.size(); ++b) {
      for (uint32_t place = 0; place < blocks_[b].ids.size(); ++place) {
        const DocumentId id = blocks_[b].ids[place];
        if (largest && id > *largest) continue;
        if (!allowed.empty() && !IsAllowed(allowed[b], place)) continue;
        if (std::binary_search(known.begin(), known.end(), id)) continue;
        smallest.push_back({id, 0, blocks_[b].lengths[place]});
        if (smallest.size() < std::min(count, SIZE_MAX - kSpare) + kSpare) continue;
        keep();
        largest = std::max_element(smallest.begin(), smallest.end(), by_id)->id;
      }
    }
    keep();
    std::sort(smallest.begin(), smallest.end(), by_id);
    answer.insert(answer.end(), smallest.begin(), smallest.end());
  }

 private:
  struct OfBlock {
    std::vector<DocumentId> ids;
    std::vector<uint32_t> lengths;
  };
  std::vector<OfBlock> blocks_;
};

// What a batch of queries is searched for with, on the GPU.
struct Batch {
  gpu_sets::Ranges queries;
  SearchGoal goal;
  GpuEngine engine = GpuEngine::kCounting;
  bool has_filter = false;
  uint32_t room = kRoom;
};

class SetsOnGpu final : public GpuSets {
 public:
  explicit SetsOnGpu(int device) : device_(device) {}
  ~SetsOnGpu() override {
    const DeviceScope scope(device_);
    if (stream_ != nullptr) {
      (void)cudaStreamSynchronize(stream_);
      (void)cudaStreamDestroy(stream_);
    }
    ForgetGraphs();
  }

  Status Start(const BlockSource& source, WorkPool& pool) {
    const DeviceScope scope(device_);
    STRATA_TRY(FromCuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "a stream"));
    STRATA_TRY(
        FromCuda(cudaDeviceGetAttribute(&processors_, cudaDevAttrMultiProcessorCount, device_),
                 "asking for processors"));
    STRATA_TRY(index_.Make(source, pool, device_));
    const size_t queries = kQueriesAtOnce;
    STRATA_TRY(asked_.Make(AskedBytes(queries), "queries"));
    STRATA_TRY(asked_on_host_.Make(asked_.size(), "queries"));
    STRATA_TRY(at_least_.Make(queries, "thresholds"));
    STRATA_TRY(overlaps_.Make(queries * kLengths, "thresholds"));
    STRATA_TRY(buckets_.Make(queries * kBuckets, "samples"));
    STRATA_TRY(found_.Make(queries, "candidates"));
    STRATA_TRY(
        FromCuda(cudaMemsetAsync(buckets_.data(), 0, buckets_.size() * sizeof(uint32_t), stream_),
                 "samples"));
    STRATA_TRY(
        candidates_.Make(std::max<size_t>(queries * kRoom, index_.documents()), "candidates"));
    if (!scans()) return {};
    STRATA_TRY(passes_.Make(queries, "queries"));
    STRATA_TRY(tables_.Make(queries, "tables of tokens"));
    STRATA_TRY(marks_.Make(queries * kLongestQuery, "tables of tokens"));
    return least_.Make(queries * kLengths * gpu_sets::kScanDigits, "thresholds");
  }

  bool scans() const override { return index_.has_tiles(); }
  Counts counts() const override { return counts_; }
  size_t bytes() const override { return index_.bytes(); }

  Result<std::vector<std::vector<Hit>>> Search(const SetList& queries, const SearchGoal& goal,
                                               const GpuSearchMeans& means) override {
    const DeviceScope scope(device_);
    counts_ = {};
    for (size_t i = 0; i < queries.size(); ++i) {
      if (queries[i].size() <= kLongestQuery) continue;
      return Invalid(
          fmt::format("query {} has {} tokens; a GPU counts at most {}: search it on the CPU", i,
                      queries[i].size(), kLongestQuery));
    }
    STRATA_TRY(SetFilter(means.allowed));
    std::vector<std::vector<Hit>> answers(queries.size());
    std::vector<uint32_t> again;
    for (size_t begin = 0; begin < queries.size(); begin += kQueriesAtOnce) {
      const size_t count = std::min<size_t>(kQueriesAtOnce, queries.size() - begin);
      const SetList part{queries.offsets.subspan(begin, count + 1), queries.tokens};
      const auto of_part = std::span(answers).subspan(begin, count);
      const bool selects = goal.k <= kMostSelected && goal.k > 0 && index_.documents() > 0;
      again.resize(count);
      std::iota(again.begin(), again.end(), 0U);
      if (selects) {
        STRATA_TRY(SearchSome(part, goal, means, kRoom, of_part, again));
        counts_.asked_again += again.size();
        if (!again.empty()) STRATA_TRY(SearchAgain(part, goal, means, of_part, again));
      }
      for (const uint32_t query : again) {
        STRATA_TRY(SearchWide(part[query], goal, means, of_part[query]));
      }
    }
    return answers;
  }

 private:
  static size_t TokensAt(size_t queries) { return (queries + 2) / 2 * 2 * sizeof(uint64_t); }
  static size_t AskedBytes(size_t queries) {
    return TokensAt(queries) + queries * kLongestQuery * sizeof(Token);
  }
  static bool AreFew(size_t queries) { return queries <= 16; }

  gpu_sets::Thresholds thresholds() const {
    return {at_least_.data(), overlaps_.data(), buckets_.data()};
  }
  gpu_sets::Ranges Queries(size_t count) const {
    return {reinterpret_cast<const uint64_t*>(asked_.data()),
            reinterpret_cast<const Token*>(asked_.data() + TokensAt(count)),
            static_cast<uint32_t>(count)};
  }
  // Of an answer: counts of hits and of candidates, and hits.
  static size_t HitsAt(size_t queries) { return (2 * queries + 3) / 4 * 4 * sizeof(uint32_t); }
  static size_t AnswerBytes(size_t queries, size_t k) {
    return HitsAt(queries) + queries * k * sizeof(Hit);
  }

  Status SetFilter(std::span<const std::span<const uint64_t>> allowed) {
    if (allowed.empty()) return {};
    if (allowed.size() != index_.blocks()) {
      return Invalid(
          fmt::format("a filter of {} blocks; the GPU has {}", allowed.size(), index_.blocks()));
    }
    STRATA_TRY(allowed_.Fit(index_.blocks() * kBlockBits, "a filter"));
    STRATA_TRY(allowed_on_host_.Fit(index_.blocks() * kBlockBits, "a filter"));
    const auto words = allowed_on_host_->values();
    std::fill(words.begin(), words.end(), ~0U);
    for (size_t i = 0; i < allowed.size(); ++i) {
      if (allowed[i].empty()) continue;
      const size_t needed = (index_.shape(i).size + 63) / 64;
      if (allowed[i].size() < needed) {
        return Invalid(fmt::format("a filter of {} words for block {}, which has {} documents",
                                   allowed[i].size(), i, index_.shape(i).size));
      }
      for (size_t word = 0; word < needed; ++word) {
        words[i * kBlockBits + 2 * word] = static_cast<uint32_t>(allowed[i][word]);
        words[i * kBlockBits + 2 * word + 1] = static_cast<uint32_t>(allowed[i][word] >> 32);
      }
    }
    return allowed_->Set(words, stream_);
  }

  // Puts queries into pinned memory, as the GPU has them.
  size_t Ask(const SetList& queries) {
    std::byte* const to = asked_on_host_.values().data();
    auto* const offsets = reinterpret_cast<uint64_t*>(to);
    for (size_t i = 0; i <= queries.size(); ++i) {
      offsets[i] = queries.offsets[i] - queries.offsets[0];
    }
    const size_t tokens = offsets[queries.size()];
    if (tokens > 0) {
      std::copy_n(queries.tokens.data() + queries.offsets[0], tokens,
                  reinterpret_cast<Token*>(to + TokensAt(queries.size())));
    }
    return TokensAt(queries.size()) + tokens * sizeof(Token);
  }

  // At most kQueriesAtOnce. Leaves in `again` those that have more candidates than there is room
  // for.
  Status SearchSome(const SetList& queries, const SearchGoal& goal, const GpuSearchMeans& means,
                    uint32_t room, std::span<std::vector<Hit>> answers,
                    std::vector<uint32_t>& again) {
    const size_t count = queries.size();
    const size_t bytes = AnswerBytes(count, goal.k);
    // Graphs know where it is.
    if (answers_.size() < bytes || answers_on_host_.size() < bytes) ForgetGraphs();
    STRATA_TRY(answers_.Fit(bytes, "answers"));
    STRATA_TRY(answers_on_host_.Fit(bytes, "answers"));
    const size_t asked = Ask(queries);
    Batch batch{Queries(count), goal, means.engine, !means.allowed.empty(), room};
    if (!scans()) batch.engine = GpuEngine::kCounting;
    if (batch.engine == GpuEngine::kScanning) STRATA_TRY(SetPasses(queries));
    if (AreFew(count)) {
      STRATA_TRY(RunSoon(batch));
    } else {
      STRATA_TRY(EnqueueAll(batch, asked));
    }
    STRATA_TRY(FromCuda(cudaStreamSynchronize(stream_), "searching"));
    const std::byte* const got = answers_on_host_->values().data();
    const auto* const counts = reinterpret_cast<const uint32_t*>(got);
    const auto* const hits = reinterpret_cast<const Hit*>(got + HitsAt(count));
    std::vector<uint32_t> asked_again;
    for (size_t i = 0; i < count; ++i) {
      const uint32_t has = counts[i];
      if (has == gpu_sets::kTooMany) {
        asked_again.push_back(again[i]);
        continue;
      }
      counts_.candidates += counts[count + i];
      std::vector<Hit>& answer = answers[again[i]];
      answer.assign(hits + i * goal.k, hits + i * goal.k + has);
      if (has < goal.k && goal.at_least.num == 0) {
        STRATA_TRY(places_.Fetch(index_, stream_));
        places_.AppendStrangers(means.allowed, goal.k - has, answer);
      }
    }
    again = std::move(asked_again);
    return {};
  }

  // Queries of `again` with as much room as there is.
  Status SearchAgain(const SetList& queries, const SearchGoal& goal, const GpuSearchMeans& means,
                     std::span<std::vector<Hit>> answers, std::vector<uint32_t>& again) {
    std::vector<uint64_t> offsets{0};
    std::vector<Token> tokens;
    for (const uint32_t query : again) {
      const auto set = queries[query];
      tokens.insert(tokens.end(), set.begin(), set.end());
      offsets.push_back(tokens.size());
    }
    const size_t room = std::min<size_t>(candidates_.size() / again.size(), index_.documents());
    return SearchSome({offsets, tokens}, goal, means, static_cast<uint32_t>(room), answers, again);
  }

  // A query by itself, with room for every document; the host selects.
  Status SearchWide(std::span<const Token> tokens, const SearchGoal& goal,
                    const GpuSearchMeans& means, std::vector<Hit>& answer) {
    TopHits hits(goal, static_cast<uint32_t>(tokens.size()));
    STRATA_TRY(places_.Fetch(index_, stream_));
    if (index_.documents() > 0) {
      const std::vector<uint64_t> offsets{0, tokens.size()};
      const size_t asked = Ask({offsets, tokens});
      const Batch batch{Queries(1), goal, GpuEngine::kCounting, !means.allowed.empty(),
                        static_cast<uint32_t>(index_.documents())};
      STRATA_TRY(CopyQueries(asked));
      STRATA_TRY(SetThresholds(batch, 0));
      STRATA_TRY(Count(gpu_sets::Purpose::kSearch, batch, {0, index_.blocks()}));
      uint32_t count = 0;
      STRATA_TRY(found_.Get(std::span(&count, 1), stream_));
      STRATA_TRY(FromCuda(cudaStreamSynchronize(stream_), "searching"));
      std::vector<Candidate> candidates(count);
      STRATA_TRY(candidates_.Get(candidates, stream_));
      STRATA_TRY(FromCuda(cudaStreamSynchronize(stream_), "searching"));
      counts_.candidates += candidates.size();
      for (const Candidate& candidate : candidates) hits.Offer(places_.HitOf(candidate));
    }
    const size_t strangers = hits.StrangersWanted();
    answer = hits.Take();
    if (strangers > 0) places_.AppendStrangers(means.allowed, strangers, answer);
    return {};
  }

  // From queries in pinned memory to answers there.
  Status EnqueueAll(const Batch& batch, size_t asked_bytes) {
    STRATA_TRY(CopyQueries(asked_bytes));
    STRATA_TRY(Collect(batch));
    const size_t count = batch.queries.queries;
    STRATA_TRY(FromCuda(gpu_sets::Select(SelectJobOf(batch), stream_), "selecting"));
    return answers_->Get(answers_on_host_->values().first(AnswerBytes(count, batch.goal.k)),
                         stream_);
  }
  gpu_sets::SelectJob SelectJobOf(const Batch& batch) const {
    const size_t count = batch.queries.queries;
    auto* const counts = reinterpret_cast<uint32_t*>(answers_->data());
    return {.blocks = index_.of_blocks(),
            .queries = batch.queries,
            .metric = batch.goal.metric,
            .k = static_cast<uint32_t>(batch.goal.k),
            .equal_keys_are_equal = index_.longest() <= 255,
            .later_ids_are_larger = index_.ids_ascend(),
            .thresholds = thresholds(),
            .candidates = candidates_.data(),
            .room = batch.room,
            .found = found_.data(),
            .answers = reinterpret_cast<Hit*>(answers_->data() + HitsAt(count)),
            .counts = counts,
            .candidates_found = counts + count};
  }
  Status CopyQueries(size_t bytes) {
    return asked_.Set(std::as_const(asked_on_host_).values().first(bytes), stream_);
  }

  // The same for few queries, whose kernels take no longer than their launches: as a graph, if
  // there has been such a batch before.
  Status RunSoon(const Batch& batch) {
    const size_t bytes = AskedBytes(batch.queries.queries);
    // Scanning has passes, which a graph does not know.
    if (batch.engine == GpuEngine::kScanning) return EnqueueAll(batch, bytes);
    for (const Graph& graph : graphs_) {
      if (!graph.IsOf(batch)) continue;
      return FromCuda(cudaGraphLaunch(graph.exec, stream_), "searching");
    }
    constexpr size_t kMostGraphs = 32;
    if (graphs_.size() >= kMostGraphs) ForgetGraphs();
    if (cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal) != cudaSuccess) {
      (void)cudaGetLastError();
      return EnqueueAll(batch, bytes);
    }
    const Status enqueued = EnqueueAll(batch, bytes);
    cudaGraph_t captured = nullptr;
    const cudaError_t ended = cudaStreamEndCapture(stream_, &captured);
    STRATA_TRY(enqueued);
    STRATA_TRY(FromCuda(ended, "a graph"));
    Graph graph{batch};
    const cudaError_t made = cudaGraphInstantiate(&graph.exec, captured, 0);
    (void)cudaGraphDestroy(captured);
    STRATA_TRY(FromCuda(made, "a graph"));
    graphs_.push_back(graph);
    return FromCuda(cudaGraphLaunch(graph.exec, stream_), "searching");
  }
  void ForgetGraphs() {
    for (const Graph& graph : graphs_) (void)cudaGraphExecDestroy(graph.exec);
    graphs_.clear();
  }

  // Passes of queries that there are slots for.
  Status SetPasses(const SetList& queries) {
    passes_on_host_.clear();
    size_t tokens = 0;
    for (uint32_t i = 0; i < queries.size(); ++i) {
      const size_t more = queries[i].size();
      const bool fits = !passes_on_host_.empty() &&
                        passes_on_host_.back().count < gpu_sets::kScanQueries &&
                        tokens + more <= gpu_sets::kSlots;
      if (!fits) {
        passes_on_host_.push_back({i, 0});
        tokens = 0;
      }
      ++passes_on_host_.back().count;
      tokens += more;
    }
    return passes_.Set(passes_on_host_, stream_);
  }

  struct BlockRange {
    size_t first = 0;
    size_t last = 0;  // exclusive
  };

  // The first blocks that have so many documents together, or all.
  size_t BlocksWith(size_t documents) const {
    size_t block = 0;
    for (size_t seen = 0; block < index_.blocks() && seen < documents; ++block) {
      seen += index_.shape(block).size;
    }
    return block;
  }

  // Fills the candidates, with better and better thresholds: by all documents of a sample, then by
  // the best of more and more.
  Status Collect(const Batch& batch) {
    constexpr size_t kSampled = 128;  // a part of so many
    const size_t blocks = index_.blocks();
    const size_t documents = index_.documents();
    // Few queries leave most of the GPU idle: it counts all documents twice as fast as in steps.
    const bool are_few = AreFew(batch.queries.queries);
    const size_t sampled = are_few ? blocks : BlocksWith(documents / kSampled + 1);
    STRATA_TRY(Count(gpu_sets::Purpose::kSample, batch, {0, sampled}));
    STRATA_TRY(SetThresholds(batch, batch.goal.k));
    if (batch.engine == GpuEngine::kScanning) {
      STRATA_TRY(FromCuda(gpu_sets::MakeScanTables(ScanJobOf(batch, {0, 0}), stream_), "tables"));
    }
    size_t done = 0;
    if (!are_few) {
      for (const size_t part : {kSampled, size_t{16}, size_t{4}}) {
        // A pass over few documents takes as long as over some more.
        if (part == kSampled && batch.engine == GpuEngine::kScanning) continue;
        const size_t last = BlocksWith(documents / part + 1);
        if (last == done) continue;
        if (last == blocks) break;
        STRATA_TRY(Find(batch, {done, last}));
        STRATA_TRY(FromCuda(gpu_sets::Tighten(SelectJobOf(batch), stream_), "selecting"));
        done = last;
      }
    }
    return Find(batch, {done, blocks});
  }
  Status SetThresholds(const Batch& batch, size_t k) {
    return FromCuda(
        gpu_sets::SetThresholds(batch.queries, batch.goal.metric, static_cast<uint32_t>(k),
                                batch.goal.at_least, thresholds(), found_.data(), stream_),
        "thresholds");
  }
  Status Find(const Batch& batch, BlockRange range) {
    if (range.first >= range.last) return {};
    if (batch.engine == GpuEngine::kCounting) {
      return Count(gpu_sets::Purpose::kSearch, batch, range);
    }
    return FromCuda(gpu_sets::Scan(ScanJobOf(batch, range), processors_, stream_), "scanning");
  }
  gpu_sets::ScanJob ScanJobOf(const Batch& batch, BlockRange range) const {
    return {.blocks = index_.of_blocks(),
            .tiles = index_.tiles(),
            .first_tile = index_.first_tile(range.first),
            .tiles_count = index_.first_tile(range.last) - index_.first_tile(range.first),
            .forward = index_.forward(),
            .ranks = index_.ranks(),
            .ranked = index_.ranked(),
            .queries = batch.queries,
            .passes = passes_.data(),
            .passes_count = static_cast<uint32_t>(passes_on_host_.size()),
            .metric = batch.goal.metric,
            .thresholds = thresholds(),
            .allowed = batch.has_filter ? allowed_->data() : nullptr,
            .candidates = candidates_.data(),
            .room = batch.room,
            .found = found_.data(),
            .tables = tables_.data(),
            .marks = marks_.data(),
            .least = least_.data()};
  }
  Status Count(gpu_sets::Purpose purpose, const Batch& batch, BlockRange range) {
    if (range.first >= range.last) return {};
    const auto blocks = static_cast<uint32_t>(range.last - range.first);
    const uint32_t queries = batch.queries.queries;
    // A block of threads gets many queries, so that its block of documents stays at hand, unless
    // some of the GPU would have nothing to do; all take about as long, so that they fill it a
    // whole number of times.
    constexpr uint32_t kQueriesEach = 50;
    const uint32_t at_once =
        static_cast<uint32_t>(processors_) * gpu_sets::CountBlocksAtOnce(purpose);
    const uint32_t parts_wanted =
        std::max({(queries + kQueriesEach - 1) / kQueriesEach, at_once / blocks, 1U});
    const uint32_t waves = std::max((parts_wanted * blocks + at_once / 2) / at_once, 1U);
    const uint32_t parts = std::clamp(waves * at_once / blocks, 1U, queries);
    // The best of a sample's documents are enough, wherever they are; which of them a filter lets
    // pass is not known before.
    const size_t k = std::min<size_t>(batch.goal.k, kMostSelected);
    const size_t enough = batch.has_filter ? UINT32_MAX : std::min(k, 4 * k / blocks + 1);
    const gpu_sets::CountJob job{.blocks = index_.of_blocks(),
                                 .first_block = static_cast<uint32_t>(range.first),
                                 .blocks_count = blocks,
                                 .queries = batch.queries,
                                 .queries_each = (queries + parts - 1) / parts,
                                 .metric = batch.goal.metric,
                                 .enough = static_cast<uint32_t>(enough),
                                 .allowed = batch.has_filter ? allowed_->data() : nullptr,
                                 .thresholds = thresholds(),
                                 .candidates = candidates_.data(),
                                 .room = batch.room,
                                 .found = found_.data()};
    return FromCuda(gpu_sets::Count(purpose, job, stream_), "counting");
  }

  struct Graph {
    Batch of;
    cudaGraphExec_t exec = nullptr;

    bool IsOf(const Batch& batch) const {
      return of.queries.queries == batch.queries.queries && of.engine == batch.engine &&
             of.has_filter == batch.has_filter && of.room == batch.room &&
             of.goal.metric == batch.goal.metric && of.goal.k == batch.goal.k &&
             of.goal.at_least.num == batch.goal.at_least.num &&
             of.goal.at_least.den == batch.goal.at_least.den;
    }
  };

  const int device_;
  int processors_ = 0;
  cudaStream_t stream_ = nullptr;
  gpu_sets::GpuIndex index_;
  Places places_;
  DeviceMemory<std::byte> asked_;  // offsets of queries, and from TokensAt on their tokens
  PinnedMemory<std::byte> asked_on_host_;
  DeviceMemory<Fraction> at_least_;
  DeviceMemory<uint8_t> overlaps_;
  DeviceMemory<uint32_t> buckets_;  // all 0 between searches
  DeviceMemory<uint32_t> found_;
  DeviceMemory<Candidate> candidates_;
  Growing<DeviceMemory<std::byte>> answers_;
  Growing<PinnedMemory<std::byte>> answers_on_host_;
  Growing<DeviceMemory<uint32_t>> allowed_;
  Growing<PinnedMemory<uint32_t>> allowed_on_host_;
  DeviceMemory<gpu_sets::Pass> passes_;
  std::vector<gpu_sets::Pass> passes_on_host_;
  DeviceMemory<gpu_sets::ScanTable> tables_;
  DeviceMemory<uint32_t> marks_;
  DeviceMemory<uint4> least_;
  std::vector<Graph> graphs_;
  Counts counts_;
};

}  // namespace

Status GpuSets::Prepare(int device) {
  STRATA_TRY(CheckDevice(device));
  const DeviceScope scope(device);
  return FromCuda(cudaFree(nullptr), "starting to use a GPU");
}

Result<std::unique_ptr<GpuSets>> GpuSets::Open(int device, const BlockSource& documents,
                                               WorkPool& pool) {
  if (documents.blocks() > kMostBlocks) {
    return Refused(fmt::format("{} blocks of documents; a GPU takes at most {}", documents.blocks(),
                               kMostBlocks));
  }
  STRATA_TRY(CheckDevice(device));
  auto made = std::make_unique<SetsOnGpu>(device);
  STRATA_TRY(made->Start(documents, pool));
  return std::unique_ptr<GpuSets>(std::move(made));
}

}  // namespace strata
