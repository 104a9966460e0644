// strata-bench-search-contest uniform|Zipf DOCUMENTS QUERIES: what the contest's clock measures, in
// a process that has not used a GPU before: from documents and queries, a vector each, to the
// answers. Prints a line for each step, one after the other, and for all together: its milliseconds
// and what it is.
#include <fmt/format.h>

#include <charconv>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/print.h"
#include "base/thread/thread.h"
#include "base/thread/work_pool.h"
#include "bench/harness/machine.h"
#include "bench/suites/search/set_documents.h"
#include "kernels/setops/gpu_sets.h"

namespace strata::bench {
namespace {

constexpr uint64_t kSeed = 11;
constexpr SearchGoal kGoal{.metric = SetMetric::kOverlapMax, .k = 100};

using Sets = std::vector<std::vector<uint16_t>>;

std::vector<uint16_t> Short(std::span<const Token> set) { return {set.begin(), set.end()}; }

Status Run(TokenSpread spread, size_t documents, size_t queries) {
  Sets asked;
  Sets sets(documents);
  {
    STRATA_ASSIGN(const SetDocuments drawn,
                  SetDocuments::Make(kSeed, {.spread = spread}, documents, queries));
    STRATA_ASSIGN(const auto pool, WorkPool::Start("documents", Cores() - 1));
    pool->Run(drawn.parts().size(), [&](size_t part) {
      const SetList of = drawn.parts()[part].view();
      for (size_t i = 0; i < of.size(); ++i) {
        sets[part * SetBlock::kMostDocuments + i] = Short(of[i]);
      }
    });
    for (size_t i = 0; i < queries; ++i) asked.push_back(Short(drawn.queries()[i]));
  }

  const TimeNs begin = RealClock().Now();
  GpuSets::ExpectSearchesAlone();
  STRATA_ASSIGN(const auto pool, WorkPool::Start("search", Cores() - 1));
  STRATA_ASSIGN(const auto source, SourceOf(std::span<const std::vector<uint16_t>>(sets)));
  const TimeNs started = RealClock().Now();
  SetLists lists;
  STRATA_ASSIGN(auto listing, StartThread("queries", [&] {
                  for (const auto& query : asked)
                    lists.Add(std::vector<Token>(query.begin(), query.end()));
                }));
  const bool scans = spread == TokenSpread::kZipf;
  STRATA_ASSIGN(
      const auto opened,
      GpuSets::Open(0, *source, *pool, scans ? GpuEngines::kBoth : GpuEngines::kCounting));
  listing.join();
  const TimeNs indexed = RealClock().Now();
  const GpuEngine engine = scans ? GpuEngine::kScanning : GpuEngine::kCounting;
  STRATA_ASSIGN(const auto answers, opened->Search(lists.view(), kGoal, {.engine = engine}));
  const TimeNs searched = RealClock().Now();
  std::vector<std::vector<int>> results(answers.size());
  for (size_t i = 0; i < answers.size(); ++i) {
    results[i].reserve(answers[i].size());
    for (const Hit& hit : answers[i]) results[i].push_back(static_cast<int>(hit.id));
  }
  const TimeNs end = RealClock().Now();
  const GpuSets::OpenSteps steps = opened->steps();
  std::string text;
  double before = 0;
  const auto add = [&](double until, const char* what) {
    text += fmt::format("{:.3f} {}\n", (until - before) / 1e6, what);
    before = until;
  };
  const auto since = [&](TimeNs time) { return static_cast<double>(time - begin); };
  const double at_start = since(started);
  add(at_start, "threads");
  add(at_start + steps.driver, "the driver");
  add(at_start + steps.context, "the GPU's context");
  add(at_start + steps.room, "memory for searches");
  add(at_start + steps.memory, "memory for documents");
  add(at_start + steps.sent, "documents sent");
  add(at_start + steps.indexed, "the rest of the index");
  add(since(indexed), "memory given back");
  add(since(searched), "search");
  add(since(end), "results");
  before = 0;
  add(since(end), "all");
  return WriteStdout(text);
}

std::optional<size_t> Count(const char* text) {
  size_t count = 0;
  const auto read = std::from_chars(text, text + std::strlen(text), count);
  if (read.ec != std::errc() || *read.ptr != '\0' || count == 0) return std::nullopt;
  return count;
}

}  // namespace
}  // namespace strata::bench

int main(int argc, char** argv) {
  using strata::bench::Count;
  const std::string_view spread = argc == 4 ? argv[1] : "";
  const auto documents = Count(argc == 4 ? argv[2] : "");
  const auto queries = Count(argc == 4 ? argv[3] : "");
  if ((spread != "uniform" && spread != "Zipf") || !documents || !queries) {
    strata::PrintStderr("usage: strata-bench-search-contest uniform|Zipf DOCUMENTS QUERIES\n");
    return 64;
  }
  const strata::Status status = strata::bench::Run(
      spread == "Zipf" ? strata::bench::TokenSpread::kZipf : strata::bench::TokenSpread::kUniform,
      *documents, *queries);
  if (status.ok()) return 0;
  strata::PrintStderr("strata-bench-search-contest: {}\n", status.ToString());
  return 1;
}
