// Bytes that calls of the hash map move, beside sectors counted one by one where MapRef says that
// digests, headers and rows lie.
#include "bench/suites/map_traffic.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "base/random.h"
#include "strata/gpu/map_ref.h"

namespace strata::bench {
namespace {

constexpr uint64_t kSector = 32;
constexpr uint64_t kPairs = 1000;

// Sectors read and written for one key.
class Sectors {
 public:
  void Read(const void* at, uint64_t bytes) { Add(read_, at, bytes); }
  void Write(const void* at, uint64_t bytes) { Add(written_, at, bytes); }
  uint64_t bytes() const { return (read_.size() + written_.size()) * kSector; }

 private:
  static void Add(std::set<uint64_t>& to, const void* at, uint64_t bytes) {
    const auto first = reinterpret_cast<uint64_t>(at);
    for (uint64_t n = first / kSector; n <= (first + bytes - 1) / kSector; ++n) to.insert(n);
  }
  std::set<uint64_t> read_;
  std::set<uint64_t> written_;
};

// A map that nobody looks into: only where things would lie counts.
class MapTrafficTest : public ::testing::TestWithParam<uint32_t> {
 protected:
  MapTrafficTest() {
    map_.lines = reinterpret_cast<uint8_t*>(uint64_t{1} << 40);
    map_.slots = reinterpret_cast<std::byte*>(uint64_t{1} << 41);
    map_.slot_bytes = SlotBytes(dim_);
    map_.dim = dim_;
  }

  uint64_t DrawPlace() {
    const uint64_t bucket = random_.Below(2 * kPairs);
    return bucket * kLineBytes + random_.Below(kBucketSlots);
  }
  const void* Line(uint64_t place) const { return map_.lines + place / kLineBytes * kLineBytes; }
  uint64_t RowBytes() const { return dim_ * sizeof(float); }

  // Keys of the batch, and its rows in or out, lie side by side.
  uint64_t DenseBytes(uint64_t count) const { return count * (sizeof(uint64_t) + RowBytes()); }

  const uint32_t dim_ = GetParam();
  MapRef map_;
  Random random_{7};
};

TEST_P(MapTrafficTest, AFindReadsLinesAndRows) {
  constexpr MapKeys kKeys{.present = 640, .absent = 320};
  uint64_t expected = (kKeys.present + kKeys.absent) * (sizeof(uint64_t) + 1);
  for (uint64_t i = 0; i < kKeys.present + kKeys.absent; ++i) {
    const uint64_t place = DrawPlace();
    Sectors sectors;
    sectors.Read(Line(place), kLineBytes);
    if (i < kKeys.present) {
      sectors.Read(map_.HeaderOf(place), sizeof(SlotHeader));
      sectors.Read(map_.RowOf(place), RowBytes());
      expected += RowBytes();
    }
    expected += sectors.bytes();
  }
  EXPECT_EQ(FindBytes(dim_, kKeys), expected);
}

TEST_P(MapTrafficTest, AnInsertWritesSlotsAndTakesRowsOut) {
  constexpr MapKeys kKeys{.present = 640, .absent = 320, .evicting = 32, .handed = 24};
  uint64_t assigned = DenseBytes(kKeys.present + kKeys.absent);
  uint64_t handed_out = assigned;
  for (uint64_t i = 0; i < kKeys.present + kKeys.absent; ++i) {
    const uint64_t place = DrawPlace();
    Sectors assign;
    assign.Read(Line(place), kLineBytes);
    Sectors hand_out = assign;
    if (i < kKeys.present) {
      assign.Read(map_.HeaderOf(place), sizeof(SlotHeader));
      assign.Write(map_.Slot(place), map_.slot_bytes);
      hand_out.Read(map_.Slot(place), sizeof(SlotHeader) + RowBytes());
      hand_out.Write(&map_.HeaderOf(place)->score, sizeof(uint64_t));
    } else {
      for (Sectors* call : {&assign, &hand_out}) {
        call->Write(Line(place), kLineBytes);
        call->Write(map_.Slot(place), map_.slot_bytes);
        if (i >= kKeys.present + kKeys.evicting) continue;
        const uint64_t first = place / kLineBytes * kLineBytes + place % 3;
        for (uint32_t n = 0; n < kScoresRead; ++n) {
          call->Read(&map_.HeaderOf(first + 3 * n)->score, sizeof(uint64_t));
        }
        if (i >= kKeys.present + kKeys.handed) continue;
        const uint64_t victim = first + 3 * random_.Below(kScoresRead);
        call->Read(map_.HeaderOf(victim), sizeof(SlotHeader) + RowBytes());
        (call == &assign ? assigned : handed_out) += sizeof(SlotHeader) + RowBytes();
      }
    }
    assigned += assign.bytes();
    handed_out += hand_out.bytes();
  }
  EXPECT_EQ(InsertBytes(dim_, kKeys), assigned);
  EXPECT_EQ(InsertBytes(dim_, kKeys), handed_out);
}

INSTANTIATE_TEST_SUITE_P(Dimensions, MapTrafficTest, ::testing::Values(8U, 13U, 32U, 64U));

}  // namespace
}  // namespace strata::bench
