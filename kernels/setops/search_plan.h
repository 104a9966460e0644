// Which engine answers which queries of a batch. Both find the same; their times differ by the data
// up to a hundredfold:
//
//   counting   a query's time is that of the documents that share tokens with it
//   scanning   32 queries' time is that of all tokens there are
//
// How much work each engine would have is known from the blocks, without doing it. What a unit of
// work takes is a machine's, and is measured there (storage/itemset/measure_rates.h). The queries
// that are dearest to count are scanned, as many together as an engine takes, as long as that takes
// less than counting them; on a GPU likewise.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/setops/set_block.h"
#include "kernels/setops/strangers.h"

namespace strata {

enum class SearchEngine : uint8_t {
  kCounting = 0,     // CountSearch
  kScanning = 1,     // ScanSearch
  kGpuCounting = 2,  // GpuSets
  kGpuScanning = 3,  // GpuSets
};
inline constexpr size_t kSearchEngines = 4;
// "counting", "scanning", "counting on a GPU", "scanning on a GPU".
std::string_view NameOf(SearchEngine engine);

// What a query's counting is made of.
struct CountWork {
  double lookups = 0;    // of a token's list in a block
  double postings = 0;   // counters that one is added to
  double words = 0;      // of 64 bits, of frequent tokens
  double documents = 0;  // counters that are compared and set to 0

  CountWork& operator+=(const CountWork& other);
};

// What scanning is made of, for any number of queries up to ScanSearch::kMostQueries.
struct ScanWork {
  double lists = 0;      // words of the table that says which queries have a token
  double tokens = 0;     // of documents
  double documents = 0;  // whose overlaps are compared

  ScanWork& operator+=(const ScanWork& other);
  ScanWork operator*(double times) const;
};

struct CountRates {
  double lookup_ns = 0;
  double posting_ns = 0;
  double word_ns = 0;
  double document_ns = 0;

  double Time(const CountWork& work) const {
    return work.lookups * lookup_ns + work.postings * posting_ns + work.words * word_ns +
           work.documents * document_ns;
  }
};

struct ScanRates {
  double list_ns = 0;
  double token_ns = 0;
  double document_ns = 0;

  double Time(const ScanWork& work) const {
    return work.lists * list_ns + work.tokens * token_ns + work.documents * document_ns;
  }
};

// Of a GPU, all of it. A search has steps that take as long for one query as for many.
struct GpuRates {
  double call_ns = 60'000;  // of a call, whatever it asks
  double query_ns = 600;    // of a query's selection and its way to the host
  CountRates count{
      .lookup_ns = 0.06, .posting_ns = 0.0015, .word_ns = 0.0033, .document_ns = 0.00013};
  double scan_call_ns = 300'000;                                       // of a call that scans
  ScanRates scan{.list_ns = 0, .token_ns = 0.0019, .document_ns = 0};  // GpuSets::kScanned queries
  // Of documents that are brought there first: a call, and a token of theirs.
  double load_call_ns = 20e6;
  double load_token_ns = 1.8;
};

// Nanoseconds of one thread, or of the whole GPU. The values here are those of one machine: two
// cores of an AMD EPYC with AVX-512, and an H100 (docs/search.md).
struct SearchRates {
  CountRates count{.lookup_ns = 32, .posting_ns = 0.26, .word_ns = 1.3, .document_ns = 0.007};
  ScanRates scan{.list_ns = 0.06, .token_ns = 0.64, .document_ns = 1.5};
  double candidate_ns = 60;  // of a document that is offered to TopHits
  GpuRates gpu;
  // By engine: what it takes of late, by what the figures above say (storage/itemset's
  // SearchPace).
  std::array<double, kSearchEngines> ratios = {1, 1, 1, 1};

  double RatioOf(SearchEngine engine) const { return ratios.at(static_cast<size_t>(engine)); }
};

// Documents that are searched, of a plan's point of view.
struct PlannedBlocks {
  std::span<const AllowedBlock> blocks;
  bool gpu_has_all = false;  // a GPU holds just these
  bool gpu_scans = false;    // GpuSets::scans()
  // Or it does not, but they are brought there for the search, in so many pieces; 0: it does.
  size_t gpu_pieces = 0;
};

struct SearchPlan {
  struct Group {
    SearchEngine engine = SearchEngine::kCounting;
    std::vector<uint32_t> queries;  // by number, ascending; at most kBatch, on a GPU any number
    double estimate_ns = 0;         // of one thread, or of the GPU
    double candidates = 0;          // documents offered to TopHits, about: of those that filters
                                    // allow, those of the threshold or more; a GPU has none
  };
  // Counting gains from a batch, too: a block's lists stay in a cache while queries pass over them.
  static constexpr size_t kBatch = 32;

  std::vector<Group> groups;  // each query is in one
  double estimate_ns = 0;     // of the call: groups are divided among the threads
  size_t load_pieces = 0;     // PlannedBlocks::gpu_pieces, if a GPU searches these
  double load_ns = 0;         // of the estimate, to bring them to the GPU
  // What one engine alone would have taken, for explanations.
  double counting_ns = 0;
  double scanning_ns = 0;
  std::optional<double> gpu_ns;  // none: it cannot answer them all
};

// Each of the queries ascends without repeats. `threads` share the work, at least 1. Looks at some
// blocks of many (an estimate), so that planning takes a small part of the search.
SearchPlan PlanSearch(const PlannedBlocks& blocks, const SetList& queries, const SearchGoal& goal,
                      const SearchRates& rates, size_t threads);

// How many documents are offered to TopHits of the best k, about: those that reach its threshold as
// it is when they are looked at. There are `documents` of them, and overlaps with the query are
// distributed by Poisson's law around `overlap`. Equally alike ones are all offered.
double CandidatesOf(double documents, double overlap, size_t k);

// Of one query, and of any group, in one block.
CountWork CountWorkOf(const SetBlock& block, std::span<const Token> query);
ScanWork ScanWorkOf(const SetBlock& block);

}  // namespace strata
