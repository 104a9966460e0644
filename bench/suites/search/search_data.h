// What suite "search" searches: documents that are drawn, or those of a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "bench/suites/search/set_documents.h"
#include "kernels/setops/top_hits.h"
#include "strata/status.h"

namespace strata::bench {

constexpr uint64_t kSearchSeed = 11;

// Draws documents, or has them.
using DocumentSource = std::function<Result<std::shared_ptr<const SetDocuments>>()>;

// As the command line says it.
struct SearchData {
  size_t documents = 0;      // 0: as many as each case has; of a file: all
  size_t k = 100;            // best ones that are wanted
  size_t queries = 512;      // different ones, asked in turn
  std::string file = {};     // as strata-admin collection load takes it; "": drawn
  std::string offsets = {};  // of a CSR pair
  std::shared_ptr<const SetDocuments> read = {};  // of the file: ReadDocuments

  SearchGoal goal() const { return {.metric = SetMetric::kOverlapMax, .k = k}; }
  bool is_usual() const {
    return documents == 0 && k == SearchData{}.k && queries == SearchData{}.queries &&
           file.empty() && offsets.empty();
  }
};

// Reads the documents of data->file, if there is one, with small numbers in place of frequent
// tokens, as collections have them; queries are documents, drawn at random. kInvalid names file and
// line.
Status ReadDocuments(SearchData* data);

}  // namespace strata::bench
