#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <numeric>
#include <optional>

#include "base/clock.h"
#include "base/thread/bell.h"
#include "kernels/core/device_memory.cuh"
#include "kernels/setops/gpu_count.cuh"
#include "kernels/setops/gpu_index.cuh"
#include "kernels/setops/gpu_scan.cuh"
#include "kernels/setops/gpu_search_room.cuh"
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
using gpu_sets::SearchRoom;

static_assert(gpu_sets::kScanQueries == GpuSets::kScanned);

constexpr size_t kBlockBits = SetBlock::kMostDocuments / 32;  // words of 32, by block

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
  SetsOnGpu(std::shared_ptr<SearchRoom> room, gpu_sets::GpuIndex index)
      : room_(std::move(room)), index_(std::move(index)) {}
  ~SetsOnGpu() override {
    const DeviceScope scope(room_->device());
    (void)cudaStreamSynchronize(room_->stream);
  }

  // After the index has looked at the documents. Steps up to there are known.
  Status Start(const BlockSource& source, WorkPool& pool, TimeNs begin, const OpenSteps& steps) {
    const DeviceScope scope(room_->device());
    STRATA_TRY(index_.Make(source, pool, room_->device()));
    STRATA_TRY(WriteLengths());
    const auto since = [&](TimeNs time) { return static_cast<double>(time - begin); };
    steps_ = steps;
    steps_.memory = since(index_.memory_at());
    steps_.sent = since(index_.sent_at());
    steps_.indexed = since(index_.made_at());
    steps_.all = since(RealClock().Now());
    return {};
  }

  bool scans() const override { return index_.has_tiles(); }
  Counts counts() const override { return counts_; }
  size_t bytes() const override {
    return index_.bytes() + lengths_.size() * sizeof(gpu_sets::LengthRange);
  }
  OpenSteps steps() const override { return steps_; }

  Result<std::vector<std::vector<Hit>>> Search(const SetList& queries, const SearchGoal& goal,
                                               const GpuSearchMeans& means) override {
    const DeviceScope scope(room_->device());
    const MutexLock lock(room_->mutex);
    counts_ = {};
    for (size_t i = 0; i < queries.size(); ++i) {
      if (queries[i].size() <= kLongestQuery) continue;
      return Invalid(
          fmt::format("query {} has {} tokens; a GPU counts at most {}: search it on the CPU", i,
                      queries[i].size(), kLongestQuery));
    }
    STRATA_TRY(room_->FitCandidates(index_.documents()));
    if (scans()) STRATA_TRY(room_->FitScan());
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
        STRATA_TRY(AreFew(part, goal, means)
                       ? SearchFew(part, goal, means, of_part, again)
                       : SearchSome(part, goal, means, kRoom, of_part, again));
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
  Status WriteLengths() {
    if (index_.blocks() == 0) return {};
    STRATA_TRY(lengths_.Make(index_.blocks() * gpu_sets::kLengthRanges, "documents' lengths"));
    const MutexLock lock(room_->mutex);
    return FromCuda(
        gpu_sets::WriteLengths(index_.of_blocks(), static_cast<uint32_t>(index_.blocks()),
                               lengths_.data(), room_->stream),
        "documents' lengths");
  }
  // Whether each query is searched for by itself.
  bool AreFew(const SetList& queries, const SearchGoal& goal, const GpuSearchMeans& means) const {
    const bool have_parts = index_.blocks() * gpu_sets::kFewThreads >= 2 * goal.k ||
                            index_.documents() <= gpu_sets::kFewMostFound;
    return queries.size() <= kFew && means.engine == GpuEngine::kCounting &&
           goal.k <= gpu_sets::kFewMostK && have_parts &&
           index_.blocks() <= gpu_sets::kFewMostParts && index_.longest() <= gpu_sets::kFewLongest;
  }
  gpu_sets::Thresholds thresholds() const {
    return {room_->at_least.data(), room_->overlaps.data(), room_->buckets.data()};
  }
  gpu_sets::Ranges Queries(size_t count) const {
    return {reinterpret_cast<const uint64_t*>(room_->asked.data()),
            reinterpret_cast<const Token*>(room_->asked.data() + SearchRoom::TokensAt(count)),
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
    const size_t count = index_.blocks() * kBlockBits;
    STRATA_TRY(room_->FitFilter(count));
    const auto words = room_->allowed_on_host->values().first(count);
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
    return room_->allowed->Set(words, room_->stream);
  }

  // Puts queries into pinned memory, as the GPU has them.
  size_t Ask(const SetList& queries) {
    std::byte* const to = room_->asked_on_host.values().data();
    auto* const offsets = reinterpret_cast<uint64_t*>(to);
    for (size_t i = 0; i <= queries.size(); ++i) {
      offsets[i] = queries.offsets[i] - queries.offsets[0];
    }
    const size_t tokens = offsets[queries.size()];
    if (tokens > 0) {
      std::copy_n(queries.tokens.data() + queries.offsets[0], tokens,
                  reinterpret_cast<Token*>(to + SearchRoom::TokensAt(queries.size())));
    }
    return SearchRoom::TokensAt(queries.size()) + tokens * sizeof(Token);
  }

  // Leaves in `again` those that have more candidates than are sorted.
  Status SearchFew(const SetList& queries, const SearchGoal& goal, const GpuSearchMeans& means,
                   std::span<std::vector<Hit>> answers, std::vector<uint32_t>& again) {
    const size_t each = sizeof(gpu_sets::FewAnswer) + goal.k * sizeof(Hit);
    STRATA_TRY(room_->FitFew());
    STRATA_TRY(room_->FitAnswers(queries.size() * each));
    std::byte* const got = room_->answers_on_host->values().data();
    const auto answer_of = [&](size_t query) {
      return reinterpret_cast<gpu_sets::FewAnswer*>(got + query * each);
    };
    for (size_t i = 0; i < queries.size(); ++i) answer_of(i)->is_there = 0;
    STRATA_TRY(LaunchFew(queries, goal, !means.allowed.empty(), got, each));
    again.clear();
    for (uint32_t i = 0; i < queries.size(); ++i) {
      gpu_sets::FewAnswer& answer = *answer_of(i);
      const std::atomic_ref<uint32_t> is_there(answer.is_there);
      if (!SpinUntil([&] { return is_there.load(std::memory_order_acquire) != 0; })) {
        STRATA_TRY(FromCuda(cudaStreamSynchronize(room_->stream), "searching"));
      }
      if (answer.count == gpu_sets::kTooMany) {
        again.push_back(i);
        continue;
      }
      counts_.candidates += answer.found;
      const std::span hits(reinterpret_cast<const Hit*>(&answer + 1), answer.count);
      STRATA_TRY(SetAnswer(hits, goal, means, answers[i]));
    }
    return {};
  }
  Status LaunchFew(const SetList& queries, const SearchGoal& goal, bool has_filter,
                   std::byte* answers, size_t answer_bytes) {
    const auto blocks = static_cast<uint32_t>(index_.blocks());
    uint32_t parts = 1;
    while (parts < gpu_sets::kFewThreads && blocks * parts < 2 * goal.k &&
           2 * blocks * parts <= gpu_sets::kFewMostParts) {
      parts *= 2;
    }
    const uint32_t meeting = room_->few_at_once.together / blocks;  // queries
    gpu_sets::FewJob job{.blocks = index_.of_blocks(),
                         .blocks_count = blocks,
                         .parts = parts,
                         .lengths = lengths_.data(),
                         .allowed = has_filter ? room_->allowed->data() : nullptr,
                         .states = room_->few_states->data(),
                         .bests = room_->few_bests->data(),
                         .found = room_->few_found->data(),
                         .answers = answers,
                         .answer_bytes = static_cast<uint32_t>(answer_bytes),
                         .k = static_cast<uint32_t>(goal.k),
                         .at_least = goal.at_least,
                         .metric = goal.metric,
                         .equal_keys_are_equal = index_.longest() <= 255,
                         .ids_ascend = index_.longest() <= 255 && index_.ids_ascend(),
                         .queries = 0,
                         .offsets = {},
                         .tokens = {}};
    const size_t at_once =
        meeting == 0 ? gpu_sets::kFewAtOnce : std::min(meeting, gpu_sets::kFewAtOnce);
    for (size_t first = 0; first < queries.size(); first += at_once) {
      job.queries = static_cast<uint32_t>(std::min(at_once, queries.size() - first));
      for (uint32_t i = 0; i < job.queries; ++i) {
        const auto tokens = queries[first + i];
        std::copy(tokens.begin(), tokens.end(), job.tokens + job.offsets[i]);
        job.offsets[i + 1] = job.offsets[i] + static_cast<uint32_t>(tokens.size());
      }
      STRATA_TRY(
          FromCuda(gpu_sets::SearchFew(job, room_->few_at_once, room_->stream), "searching"));
      job.answers += job.queries * answer_bytes;
    }
    return {};
  }
  // As they are, and documents that are like nothing, if there are too few.
  Status SetAnswer(std::span<const Hit> hits, const SearchGoal& goal, const GpuSearchMeans& means,
                   std::vector<Hit>& answer) {
    if (goal.room != nullptr && goal.room->IsExceeded()) return {};
    answer.assign(hits.begin(), hits.end());
    if (hits.size() < goal.k && goal.at_least.num == 0) {
      STRATA_TRY(places_.Fetch(index_, room_->stream));
      places_.AppendStrangers(means.allowed, goal.k - hits.size(), answer);
    }
    if (goal.room != nullptr) goal.room->Take(answer.size());
    return {};
  }

  // At most kQueriesAtOnce. Leaves in `again` those that have more candidates than there is room
  // for.
  Status SearchSome(const SetList& queries, const SearchGoal& goal, const GpuSearchMeans& means,
                    uint32_t room, std::span<std::vector<Hit>> answers,
                    std::vector<uint32_t>& again) {
    const size_t count = queries.size();
    const size_t bytes = AnswerBytes(count, goal.k);
    STRATA_TRY(room_->FitAnswers(bytes));
    const size_t asked = Ask(queries);
    Batch batch{Queries(count), goal, means.engine, !means.allowed.empty(), room};
    if (!scans()) batch.engine = GpuEngine::kCounting;
    if (batch.engine == GpuEngine::kScanning) STRATA_TRY(SetPasses(queries));
    STRATA_TRY(EnqueueAll(batch, asked));
    STRATA_TRY(FromCuda(cudaStreamSynchronize(room_->stream), "searching"));
    const std::byte* const got = room_->answers_on_host->values().data();
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
      STRATA_TRY(SetAnswer(std::span(hits + i * goal.k, has), goal, means, answers[again[i]]));
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
    const size_t room =
        std::min<size_t>(room_->candidates->size() / again.size(), index_.documents());
    return SearchSome({offsets, tokens}, goal, means, static_cast<uint32_t>(room), answers, again);
  }

  // A query by itself, with room for every document; the host selects.
  Status SearchWide(std::span<const Token> tokens, const SearchGoal& goal,
                    const GpuSearchMeans& means, std::vector<Hit>& answer) {
    TopHits hits(goal, static_cast<uint32_t>(tokens.size()));
    STRATA_TRY(places_.Fetch(index_, room_->stream));
    if (index_.documents() > 0) {
      const std::vector<uint64_t> offsets{0, tokens.size()};
      const size_t asked = Ask({offsets, tokens});
      const Batch batch{Queries(1), goal, GpuEngine::kCounting, !means.allowed.empty(),
                        static_cast<uint32_t>(index_.documents())};
      STRATA_TRY(CopyQueries(asked));
      STRATA_TRY(SetThresholds(batch, 0));
      STRATA_TRY(Count(gpu_sets::Purpose::kSearch, batch, {0, index_.blocks()}));
      uint32_t count = 0;
      STRATA_TRY(room_->found.Get(std::span(&count, 1), room_->stream));
      STRATA_TRY(FromCuda(cudaStreamSynchronize(room_->stream), "searching"));
      std::vector<Candidate> candidates(count);
      STRATA_TRY(room_->candidates->Get(candidates, room_->stream));
      STRATA_TRY(FromCuda(cudaStreamSynchronize(room_->stream), "searching"));
      counts_.candidates += candidates.size();
      for (const Candidate& candidate : candidates) hits.Offer(places_.HitOf(candidate));
    }
    const size_t strangers = hits.StrangersWanted();
    answer = hits.Take();
    if (goal.room != nullptr && goal.room->IsExceeded()) return {};
    const size_t alike = answer.size();
    if (strangers > 0) places_.AppendStrangers(means.allowed, strangers, answer);
    if (goal.room != nullptr) goal.room->Take(answer.size() - alike);
    return {};
  }

  // From queries in pinned memory to answers there.
  Status EnqueueAll(const Batch& batch, size_t asked_bytes) {
    STRATA_TRY(CopyQueries(asked_bytes));
    STRATA_TRY(Collect(batch));
    const size_t count = batch.queries.queries;
    STRATA_TRY(FromCuda(gpu_sets::Select(SelectJobOf(batch), room_->stream), "selecting"));
    return room_->answers->Get(
        room_->answers_on_host->values().first(AnswerBytes(count, batch.goal.k)), room_->stream);
  }
  gpu_sets::SelectJob SelectJobOf(const Batch& batch) const {
    const size_t count = batch.queries.queries;
    auto* const counts = reinterpret_cast<uint32_t*>(room_->answers->data());
    return {.blocks = index_.of_blocks(),
            .queries = batch.queries,
            .metric = batch.goal.metric,
            .k = static_cast<uint32_t>(batch.goal.k),
            .equal_keys_are_equal = index_.longest() <= 255,
            .later_ids_are_larger = index_.ids_ascend(),
            .thresholds = thresholds(),
            .candidates = room_->candidates->data(),
            .room = batch.room,
            .found = room_->found.data(),
            .answers = reinterpret_cast<Hit*>(room_->answers->data() + HitsAt(count)),
            .counts = counts,
            .candidates_found = counts + count};
  }
  Status CopyQueries(size_t bytes) {
    return room_->asked.Set(std::as_const(room_->asked_on_host).values().first(bytes),
                            room_->stream);
  }

  // Passes of queries that there are slots for.
  Status SetPasses(const SetList& queries) {
    room_->passes_on_host.clear();
    size_t tokens = 0;
    for (uint32_t i = 0; i < queries.size(); ++i) {
      const size_t more = queries[i].size();
      const bool fits = !room_->passes_on_host.empty() &&
                        room_->passes_on_host.back().count < gpu_sets::kScanQueries &&
                        tokens + more <= gpu_sets::kSlots;
      if (!fits) {
        room_->passes_on_host.push_back({i, 0});
        tokens = 0;
      }
      ++room_->passes_on_host.back().count;
      tokens += more;
    }
    return room_->passes->Set(room_->passes_on_host, room_->stream);
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
    STRATA_TRY(Count(gpu_sets::Purpose::kSample, batch, {0, BlocksWith(documents / kSampled + 1)}));
    STRATA_TRY(SetThresholds(batch, batch.goal.k));
    if (batch.engine == GpuEngine::kScanning) {
      STRATA_TRY(
          FromCuda(gpu_sets::MakeScanTables(ScanJobOf(batch, {0, 0}), room_->stream), "tables"));
    }
    size_t done = 0;
    for (const size_t part : {kSampled, size_t{16}, size_t{4}}) {
      // A pass over few documents takes as long as over some more.
      if (part == kSampled && batch.engine == GpuEngine::kScanning) continue;
      const size_t last = BlocksWith(documents / part + 1);
      if (last == done) continue;
      if (last == blocks) break;
      STRATA_TRY(Find(batch, {done, last}));
      STRATA_TRY(FromCuda(gpu_sets::Tighten(SelectJobOf(batch), room_->stream), "selecting"));
      done = last;
    }
    return Find(batch, {done, blocks});
  }
  Status SetThresholds(const Batch& batch, size_t k) {
    return FromCuda(gpu_sets::SetThresholds(batch.queries, batch.goal.metric,
                                            static_cast<uint32_t>(k), batch.goal.at_least,
                                            thresholds(), room_->found.data(), room_->stream),
                    "thresholds");
  }
  Status Find(const Batch& batch, BlockRange range) {
    if (range.first >= range.last) return {};
    if (batch.engine == GpuEngine::kCounting) {
      return Count(gpu_sets::Purpose::kSearch, batch, range);
    }
    return FromCuda(gpu_sets::Scan(ScanJobOf(batch, range), room_->processors, room_->stream),
                    "scanning");
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
            .passes = room_->passes->data(),
            .passes_count = static_cast<uint32_t>(room_->passes_on_host.size()),
            .metric = batch.goal.metric,
            .thresholds = thresholds(),
            .allowed = batch.has_filter ? room_->allowed->data() : nullptr,
            .candidates = room_->candidates->data(),
            .room = batch.room,
            .found = room_->found.data(),
            .tables = room_->tables->data(),
            .marks = room_->marks->data(),
            .least = room_->least->data()};
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
        static_cast<uint32_t>(room_->processors) * gpu_sets::CountBlocksAtOnce(purpose);
    const uint32_t parts_wanted =
        std::max({(queries + kQueriesEach - 1) / kQueriesEach, at_once / blocks, 1U});
    const uint32_t waves = std::max((parts_wanted * blocks + at_once / 2) / at_once, 1U);
    const uint32_t parts = std::clamp(waves * at_once / blocks, 1U, queries);
    // The best of a sample's documents are enough, wherever they are; which of them a filter lets
    // pass is not known before.
    const size_t k = std::min<size_t>(batch.goal.k, kMostSelected);
    const size_t enough = batch.has_filter ? UINT32_MAX : std::min(k, 4 * k / blocks + 1);
    const gpu_sets::CountJob job{.blocks = index_.of_blocks(),
                                 .lengths = lengths_.data(),
                                 .first_block = static_cast<uint32_t>(range.first),
                                 .blocks_count = blocks,
                                 .queries = batch.queries,
                                 .queries_each = (queries + parts - 1) / parts,
                                 .metric = batch.goal.metric,
                                 .enough = static_cast<uint32_t>(enough),
                                 .allowed = batch.has_filter ? room_->allowed->data() : nullptr,
                                 .thresholds = thresholds(),
                                 .candidates = room_->candidates->data(),
                                 .room = batch.room,
                                 .found = room_->found.data()};
    return FromCuda(gpu_sets::Count(purpose, job, room_->stream), "counting");
  }

  const std::shared_ptr<SearchRoom> room_;
  gpu_sets::GpuIndex index_;
  DeviceMemory<gpu_sets::LengthRange> lengths_;
  Places places_;
  Counts counts_;
  OpenSteps steps_;
};

Status CheckBlocks(const BlockSource& documents) {
  if (documents.blocks() <= GpuSets::kMostBlocks) return {};
  return Refused(fmt::format("{} blocks of documents; a GPU takes at most {}", documents.blocks(),
                             GpuSets::kMostBlocks));
}

}  // namespace

void GpuSets::ExpectSearchesAlone() { (void)setenv("CUDA_DEVICE_MAX_CONNECTIONS", "1", 0); }

Status GpuSets::Prepare(int device) {
  STRATA_TRY(CheckDevice(device));
  const DeviceScope scope(device);
  return FromCuda(cudaFree(nullptr), "starting to use a GPU");
}

Result<std::shared_ptr<GpuSearchRoom>> GpuSearchRoom::Make(int device) {
  STRATA_TRY(CheckDevice(device));
  auto made = std::make_shared<SearchRoom>(device);
  STRATA_TRY(made->Start());
  return std::shared_ptr<GpuSearchRoom>(std::move(made));
}

Result<std::unique_ptr<GpuSets>> GpuSets::Open(std::shared_ptr<GpuSearchRoom> room,
                                               const BlockSource& documents, WorkPool& pool,
                                               GpuEngines engines) {
  const TimeNs begin = RealClock().Now();
  STRATA_TRY(CheckBlocks(documents));
  gpu_sets::GpuIndex index(engines == GpuEngines::kBoth);
  STRATA_TRY(index.Look(documents, pool));
  auto made = std::make_unique<SetsOnGpu>(std::static_pointer_cast<SearchRoom>(std::move(room)),
                                          std::move(index));
  STRATA_TRY(made->Start(documents, pool, begin, {}));
  return std::unique_ptr<GpuSets>(std::move(made));
}

Result<std::unique_ptr<GpuSets>> GpuSets::Open(int device, const BlockSource& documents,
                                               WorkPool& pool, GpuEngines engines) {
  const TimeNs begin = RealClock().Now();
  STRATA_TRY(CheckBlocks(documents));
  OpenSteps steps;
  std::shared_ptr<SearchRoom> room;
  const auto start = [&]() -> Status {
    const auto since = [&] { return static_cast<double>(RealClock().Now() - begin); };
    STRATA_TRY(CheckDevice(device));
    steps.driver = since();
    STRATA_TRY(Prepare(device));
    steps.context = since();
    room = std::make_shared<SearchRoom>(device);
    STRATA_TRY(room->Start());
    steps.room = since();
    return {};
  };
  gpu_sets::GpuIndex index(engines == GpuEngines::kBoth);
  Status started;
  const Status looked = index.Look(documents, pool, [&] { started = start(); });
  STRATA_TRY(started);
  STRATA_TRY(looked);
  auto made = std::make_unique<SetsOnGpu>(std::move(room), std::move(index));
  STRATA_TRY(made->Start(documents, pool, begin, steps));
  return std::unique_ptr<GpuSets>(std::move(made));
}

}  // namespace strata
