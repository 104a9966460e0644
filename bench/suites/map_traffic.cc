#include "bench/suites/map_traffic.h"

#include "strata/gpu/map_ref.h"

namespace strata::bench {
namespace {

constexpr uint64_t kSector = 32;
constexpr uint64_t kLine = kSector;  // of both buckets of a pair
constexpr uint64_t kHeader = sizeof(SlotHeader);
constexpr uint64_t kKey = sizeof(uint64_t);
static_assert(2 * kLineBytes == kSector && kHeader == kSector);

// Of a row in its slot, and in the arrays of a batch, where rows lie side by side.
struct RowBytes {
  explicit RowBytes(uint32_t dim)
      : stored((dim * sizeof(float) + kSector - 1) / kSector * kSector),
        dense(dim * sizeof(float)) {}
  uint64_t stored;
  uint64_t dense;
};

// Keys are read, their lines too, and those that are there are compared.
uint64_t SearchBytes(const MapKeys& keys) {
  return (keys.present + keys.absent) * (kKey + kLine) + keys.present * kHeader;
}

// Digests and slots of new rows are written, and before that some scores are read where a row has
// to go, one of them in its own header; a row that comes out is read, and written.
uint64_t NewRowBytes(const RowBytes& row, const MapKeys& keys) {
  return keys.absent * (kLine + kHeader + row.stored) + keys.evicting * kScoresRead * kHeader +
         keys.handed * (row.stored + kHeader + row.dense);
}

}  // namespace

uint64_t FindBytes(uint32_t dim, const MapKeys& keys) {
  const RowBytes row(dim);
  constexpr uint64_t kFound = sizeof(bool);
  return SearchBytes(keys) + (keys.present + keys.absent) * kFound +
         keys.present * (row.stored + row.dense);
}

// Of a row that is there the header is written anew, for its score; value and batch are one read,
// the other written.
uint64_t InsertBytes(uint32_t dim, const MapKeys& keys) {
  const RowBytes row(dim);
  return SearchBytes(keys) + (keys.present + keys.absent) * row.dense +
         keys.present * (kHeader + row.stored) + NewRowBytes(row, keys);
}

}  // namespace strata::bench
