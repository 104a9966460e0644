// Suite "search": exact top-K by set intersection on the CPU, beside the two plain ways to do it:
// to merge two sorted sets, and to look up a document's tokens in a bitmap of the query. All have
// as many threads as there are cores, and the same selection. And searches through servers.
#include <fmt/format.h>

#include <memory>
#include <utility>
#include <vector>

#include "base/thread/work_pool.h"
#include "bench/harness/figure.h"
#include "bench/harness/machine.h"
#include "bench/harness/measure.h"
#include "bench/suites/search/search_data.h"
#include "bench/suites/search/search_service.h"
#include "bench/suites/search/set_documents.h"
#include "kernels/setops/count_search.h"
#include "kernels/setops/scan_search.h"
#include "kernels/setops/strangers.h"
#include "kernels/setops/top_hits.h"

namespace strata::bench {
namespace {

constexpr size_t kBatch = ScanSearch::kMostQueries;

using Answer = std::vector<Hit>;

uint32_t CommonByMerge(std::span<const Token> a, std::span<const Token> b) {
  uint32_t common = 0;
  size_t i = 0;
  size_t j = 0;
  while (i < a.size() && j < b.size()) {
    common += static_cast<uint32_t>(a[i] == b[j]);
    const bool next_a = a[i] <= b[j];
    const bool next_b = b[j] <= a[i];
    i += static_cast<size_t>(next_a);
    j += static_cast<size_t>(next_b);
  }
  return common;
}

class Bitmap {
 public:
  Bitmap(std::span<const Token> query, Token vocabulary) : words_(vocabulary / 64 + 1) {
    for (const Token token : query) words_[token / 64] |= uint64_t{1} << token % 64;
  }
  uint32_t Common(std::span<const Token> document) const {
    uint32_t common = 0;
    for (const Token token : document) {
      common += static_cast<uint32_t>(words_[token / 64] >> token % 64 & 1);
    }
    return common;
  }

 private:
  std::vector<uint64_t> words_;
};

// One query after another over all documents, whatever `common` does. `blocks`: the same ones.
template <typename Common>
Answer SearchAll(std::span<const SetLists> parts, std::span<const AllowedBlock> blocks,
                 std::span<const Token> query, const SearchGoal& goal, const Common& common) {
  TopHits hits(goal, static_cast<uint32_t>(query.size()));
  DocumentId id = 0;
  for (const SetLists& part : parts) {
    const SetList documents = part.view();
    for (size_t i = 0; i < documents.size(); ++i, ++id) {
      const auto document = documents[i];
      const auto length = static_cast<uint32_t>(document.size());
      const uint32_t overlap = common(document);
      if (overlap >= hits.LeastOverlap(length)) hits.Offer({id, overlap, length});
    }
  }
  return TakeAnswer(blocks, hits);
}

class Search {
 public:
  static Result<std::unique_ptr<Search>> Make(const DocumentSource& source,
                                              const SearchGoal& goal) {
    STRATA_ASSIGN(auto documents, source());
    std::unique_ptr<Search> made(new Search(std::move(documents), goal));
    STRATA_ASSIGN(made->blocks_, made->documents_->Blocks());
    made->all_ = AllowAll(made->blocks_);
    STRATA_ASSIGN(made->pool_, WorkPool::Start("bench", static_cast<int>(Cores()) - 1));
    return made;
  }

  Answer ByMerge(size_t query) const {
    const auto tokens = Query(query);
    return SearchAll(documents_->parts(), all_, tokens, goal_,
                     [&](std::span<const Token> of) { return CommonByMerge(of, tokens); });
  }
  Answer ByBitmap(size_t query) const {
    const Bitmap bitmap(Query(query), documents_->vocabulary());
    return SearchAll(documents_->parts(), all_, Query(query), goal_,
                     [&](std::span<const Token> of) { return bitmap.Common(of); });
  }
  std::vector<Answer> ByCounting(size_t begin, size_t end) const {
    std::vector<TopHits> hits = Hits(begin, end);
    CountSearch search;
    // A block's lists stay in the cache while the queries pass over them.
    for (const SetBlock& block : blocks_) {
      for (size_t i = begin; i < end; ++i) search.Search(block, Query(i), {}, hits[i - begin]);
    }
    return Answers(hits);
  }
  std::vector<Answer> ByScanning(size_t begin, size_t end) const {
    std::vector<std::span<const Token>> queries;
    for (size_t i = begin; i < end; ++i) queries.push_back(Query(i));
    std::vector<TopHits> hits = Hits(begin, end);
    ScanSearch search(queries);
    for (const SetBlock& block : blocks_) search.Search(block, {}, hits);
    return Answers(hits);
  }

  // Work in pieces of so many queries each, as many at a time as there are threads.
  template <typename Piece>
  Work InPieces(size_t queries, const Piece& run) {
    return [this, queries, run](uint64_t count) {
      pool_->Run(count, [&](size_t i) { run(i * queries, (i + 1) * queries); });
      return Status();
    };
  }

  // All ways have one answer.
  Status Check() const {
    constexpr size_t kChecked = 3;
    const auto counted = ByCounting(0, kChecked);
    const auto scanned = ByScanning(0, kChecked);
    for (size_t i = 0; i < kChecked; ++i) {
      const Answer plain = ByMerge(i);
      if (counted[i] != plain || scanned[i] != plain || ByBitmap(i) != plain) {
        return Internal(fmt::format("query {}: answers differ", i));
      }
    }
    return {};
  }

 private:
  Search(std::shared_ptr<const SetDocuments> documents, const SearchGoal& goal)
      : documents_(std::move(documents)), goal_(goal) {}

  std::span<const Token> Query(size_t i) const {
    const SetList queries = documents_->queries();
    return queries[i % queries.size()];
  }
  std::vector<TopHits> Hits(size_t begin, size_t end) const {
    std::vector<TopHits> hits;
    for (size_t i = begin; i < end; ++i) {
      hits.emplace_back(goal_, static_cast<uint32_t>(Query(i).size()));
    }
    return hits;
  }
  std::vector<Answer> Answers(std::vector<TopHits>& hits) const {
    std::vector<Answer> answers;
    for (TopHits& of : hits) answers.push_back(TakeAnswer(all_, of));
    return answers;
  }

  const std::shared_ptr<const SetDocuments> documents_;
  const SearchGoal goal_;
  std::vector<SetBlock> blocks_;
  std::vector<AllowedBlock> all_;
  std::unique_ptr<WorkPool> pool_;
};

Result<std::vector<Figure>> RunCase(const std::string& name, const DocumentSource& source,
                                    const SearchGoal& goal, const BenchOptions& options) {
  STRATA_ASSIGN(const auto search, Search::Make(source, goal));
  STRATA_TRY(search->Check());
  const std::vector<Contender> contenders = {
      {"counting", search->InPieces(kBatch, [&](size_t b, size_t e) { search->ByCounting(b, e); })},
      {"scanning", search->InPieces(kBatch, [&](size_t b, size_t e) { search->ByScanning(b, e); })},
      {"two pointers", search->InPieces(1, [&](size_t b, size_t) { search->ByMerge(b); })},
      {"bitmap", search->InPieces(1, [&](size_t b, size_t) { search->ByBitmap(b); })}};
  STRATA_ASSIGN(auto rates, MeasureRates(contenders, options.rounds, options.round));
  for (size_t batched : {0, 1}) rates[batched] *= kBatch;
  std::vector<Figure> figures;
  const auto add = [&](const std::string& engine, double ours, size_t peer) {
    figures.push_back({.name = fmt::format("{} {}", engine, name),
                       .unit = "queries/s",
                       .ours = ours,
                       .peer = contenders[peer].name,
                       .peer_value = rates[peer]});
  };
  add("count", rates[0], 2);
  add("count", rates[0], 3);
  add("scan", rates[1], 2);
  add("scan", rates[1], 3);
  return figures;
}

// What is searched, as cases' names have it, and where it comes from.
struct Documents {
  std::string name;
  DocumentSource source;
};

std::vector<Documents> DocumentsOf(const SearchData& data, std::vector<size_t> sizes,
                                   std::vector<SetShape> shapes) {
  if (!data.file.empty()) {
    return {{fmt::format("documents={}", data.file), [read = data.read] { return read; }}};
  }
  if (data.documents > 0) sizes = {data.documents};
  std::vector<Documents> all;
  for (const size_t size : sizes) {
    for (const SetShape& shape : shapes) {
      const auto draw = [=]() -> Result<std::shared_ptr<const SetDocuments>> {
        STRATA_ASSIGN(SetDocuments drawn,
                      SetDocuments::Make(kSearchSeed, shape, size, data.queries));
        return std::make_shared<const SetDocuments>(std::move(drawn));
      };
      all.push_back({fmt::format("documents={} {}", size, shape.Name()), draw});
    }
  }
  return all;
}

std::vector<Case> Cases(const SearchData& data, bool all) {
  const SearchGoal goal = data.goal();
  const std::string asked =
      data.queries == SearchData{}.queries ? "" : fmt::format(" queries={}", data.queries);
  std::vector<Case> cases;
  std::vector<size_t> sizes = {1'000'000};
  if (all) sizes.push_back(8'499'200);
  for (const auto& [of, source] : DocumentsOf(data, sizes,
                                              {{.spread = TokenSpread::kUniform},
                                               {.spread = TokenSpread::kZipf},
                                               {.spread = TokenSpread::kNearDuplicates},
                                               {TokenSpread::kUniform, SetLengths::kContest},
                                               {TokenSpread::kZipf, SetLengths::kContest}})) {
    const std::string name = fmt::format("{} k={} batch={}{}", of, goal.k, kBatch, asked);
    cases.push_back({name, [=, source = source](const BenchOptions& options) {
                       return RunCase(name, source, goal, options);
                     }});
  }
  for (const auto& [of, source] : DocumentsOf(data, {200'000}, {SetShape{}})) {
    for (const uint8_t copies : {uint8_t{1}, uint8_t{2}}) {
      for (const size_t clients : {size_t{1}, size_t{8}, size_t{64}}) {
        const std::string name =
            fmt::format("service clients={} servers=2{} {} k={}{}", clients,
                        copies == 1 ? "" : fmt::format(" copies={}", copies), of, goal.k, asked);
        cases.push_back({name, [=, source = source](const BenchOptions& options) {
                           return RunSearchService(name, clients, source, goal, copies, options);
                         }});
      }
    }
    const std::string pulls =
        fmt::format("pull beside 8 searching clients {} k={}{}", of, goal.k, asked);
    cases.push_back({pulls, [=, source = source](const BenchOptions& options) {
                       return RunPullsBesideSearches(pulls, 8, source, goal, options);
                     }});
  }
  return cases;
}

}  // namespace

Suite SearchSuite(const SearchData& data) {
  return {"search", "exact top-K by set intersection beside the plain ways to find it",
          [data](bool all) { return Cases(data, all); }};
}

}  // namespace strata::bench
