// A collection that grows large while it is searched: each answer is one that it had at some moment
// of the search, its log stays short, and what it was comes back when it is opened again.
#pragma once

#include <cstdint>

#include "tests/soak/report.h"

namespace strata::soak {

struct ItemScaleOptions {
  uint64_t documents = 0;  // upserts, one of 50 of which replaces a document
  uint64_t deletes = 0;    // spread among them
  uint64_t seed = 1;
  uint32_t vocabulary = 50'000;  // different tokens
  size_t tail = 256;             // ItemSetOptions::tail
};

// Progress goes to stderr. An error is one of the collection.
Result<SoakReport> RunItemScale(const ItemScaleOptions& options);

}  // namespace strata::soak
