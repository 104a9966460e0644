// A GPU without one: GpuSets of documents that were brought to it, searched as a CPU searches, and
// an ItemGpu that has such ones.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "kernels/setops/count_search.h"
#include "kernels/setops/strangers.h"
#include "storage/itemset/item_gpu.h"

namespace strata::test {

// What all FakeSets have done, and are to do.
struct FakeGpuState {
  std::atomic<uint64_t> opened{0}, searches{0}, scanned{0};
  std::atomic<uint64_t> bytes{0};             // of sets that there are
  std::atomic<bool> has_no_memory{false};     // for more documents
  std::atomic<bool> refuses_searches{false};  // has no memory for them
};

class FakeSets final : public GpuSets {
 public:
  FakeSets(FakeGpuState& state, std::vector<SetBlock> blocks)
      : state_(state), blocks_(std::move(blocks)) {
    for (const SetBlock& block : blocks_) bytes_ += block.bytes();
    state_.bytes += bytes_;
  }
  ~FakeSets() override { state_.bytes -= bytes_; }

  // The documents as they come to a GPU.
  static Result<std::unique_ptr<GpuSets>> Open(FakeGpuState& state, const BlockSource& documents) {
    if (state.has_no_memory) return Refused("documents: CUDA: out of memory");
    ++state.opened;
    std::vector<SetBlock> blocks;
    for (size_t i = 0; i < documents.blocks(); ++i) {
      STRATA_ASSIGN(BlockShape shape, documents.ShapeOf(i, true));
      std::vector<DocumentId> ids(shape.size);
      std::vector<uint32_t> tiles(shape.tiles() + 1), offsets(shape.size + 1), sources(shape.size);
      documents.WritePlaces(i, {ids.data(), tiles.data(), offsets.data(), sources.data()}, shape);
      std::vector<Token> tokens(shape.tokens);
      std::vector<uint16_t> short_tokens(shape.tokens);
      for (uint32_t piece = 0; piece < BlockSource::PiecesOf(shape); ++piece) {
        const size_t begin = size_t{piece} * BlockSource::kPiece;
        void* const to = shape.is_wide() ? static_cast<void*>(tokens.data() + begin)
                                         : short_tokens.data() + begin;
        documents.WriteTokens(i, shape, piece, to);
      }
      if (!shape.is_wide()) tokens.assign(short_tokens.begin(), short_tokens.end());
      const std::vector<uint64_t> wide(offsets.begin(), offsets.end());
      blocks.push_back(SetBlock::Build(ids, {wide, tokens}));
    }
    return std::unique_ptr<GpuSets>(std::make_unique<FakeSets>(state, std::move(blocks)));
  }

  Result<std::vector<std::vector<Hit>>> Search(const SetList& queries, const SearchGoal& goal,
                                               const GpuSearchMeans& means) override {
    if (state_.refuses_searches) return Refused("answers: CUDA: out of memory");
    ++state_.searches;
    if (means.engine == GpuEngine::kScanning) ++state_.scanned;
    std::vector<AllowedBlock> blocks = AllowAll(blocks_);
    STRATA_CHECK(means.allowed.empty() || means.allowed.size() == blocks.size());
    for (size_t i = 0; i < means.allowed.size(); ++i) blocks[i].allowed = means.allowed[i];
    std::vector<std::vector<Hit>> answers;
    CountSearch search;
    for (size_t i = 0; i < queries.size(); ++i) {
      STRATA_CHECK(queries[i].size() <= kLongestQuery);
      TopHits hits(goal, static_cast<uint32_t>(queries[i].size()));
      for (const AllowedBlock& of : blocks) search.Search(*of.block, queries[i], of.allowed, hits);
      answers.push_back(TakeAnswer(blocks, hits));
    }
    return answers;
  }
  bool scans() const override { return true; }
  Counts counts() const override { return {}; }
  size_t bytes() const override { return bytes_; }

 private:
  FakeGpuState& state_;
  const std::vector<SetBlock> blocks_;
  size_t bytes_ = 0;
};

inline std::unique_ptr<ItemGpu> FakeItemGpu(FakeGpuState& state,
                                            uint64_t segments_bytes_max = uint64_t{1} << 30,
                                            uint64_t passing_bytes_max = uint64_t{1} << 30) {
  auto made = ItemGpu::Start({.device = 0,
                              .segments_bytes_max = segments_bytes_max,
                              .passing_bytes_max = passing_bytes_max,
                              .open = [&state](const BlockSource& documents, WorkPool&) {
                                return FakeSets::Open(state, documents);
                              }});
  STRATA_CHECK(made.ok());
  return std::move(*made);
}

}  // namespace strata::test
