// What the command line of strata-admin collection asked for. Plain data; collection_options.h
// reads it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/setops/merge_answers.h"
#include "storage/table_spec.h"

namespace strata::admin {

struct CollectionRequest {
  struct Range {
    std::string attribute;
    int64_t low = INT64_MIN;
    int64_t high = INT64_MAX;
  };

  std::string name;                     // "" of stats: all of them
  std::vector<std::string> attributes;  // create: their names
  uint8_t copies = 1;                   // create: servers that have each document
  std::string file;                     // load: documents, or an export; search: queries
  std::string offsets;                  // likewise: of a CSR pair; "": none
  std::string attributes_file;          // load: a row for each document; "": none
  uint64_t first_id = 0;                // load: of the first document
  AckLevel ack = AckLevel::kDefault;    // load, delete
  std::vector<DocumentId> ids;          // get, delete: from the command line
  std::string ids_file;  // get, delete: more of them; load: of the documents; "": none
  // Of search and explain.
  std::vector<std::vector<uint32_t>> queries;  // from the command line
  std::vector<DocumentId> like;                // documents whose tokens are queries
  SearchGoal goal;
  std::vector<Range> where;  // all of them hold
  std::string to;            // search: a file in the contest's form, "": none; export: a folder
};

}  // namespace strata::admin
