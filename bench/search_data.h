// What suite "search" searches: documents that are drawn, or those of a file.
#pragma once

#include <cstddef>
#include <string>

#include "base/status.h"
#include "bench/set_documents.h"
#include "kernels/setops/top_hits.h"

namespace strata::bench {

// As the command line says it.
struct SearchData {
  size_t documents = 0;      // 0: as many as each case has; of a file: all
  size_t k = 100;            // best ones that are wanted
  size_t queries = 512;      // different ones, asked in turn
  std::string file = {};     // as strata-admin collection load takes it; "": drawn
  std::string offsets = {};  // of a CSR pair

  SearchGoal goal() const { return {.metric = SetMetric::kOverlapMax, .k = k}; }
  bool is_usual() const {
    return documents == 0 && k == SearchData{}.k && queries == SearchData{}.queries &&
           file.empty() && offsets.empty();
  }
};

// The documents of data.file, with small numbers in place of frequent tokens, as collections have
// them; queries are documents, drawn at random. kInvalid names file and line.
Result<SetDocuments> ReadDocuments(uint64_t seed, const SearchData& data);

}  // namespace strata::bench
