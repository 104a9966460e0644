// The maps against golden tables (n = 1..9) and against a simulation with sets (n = 1..128).
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <fstream>
#include <set>
#include <sstream>

#include "cluster/topology/bruck.h"
#include "cluster/topology/halving.h"
#include "cluster/topology/peers.h"
#include "cluster/topology/render.h"
#include "tests/support/sanitizers.h"

namespace strata {
namespace {

constexpr int kWorldMax = kSanitized ? 40 : 128;
constexpr HalvingForm kForms[] = {HalvingForm::kPairLast, HalvingForm::kFoldFirst};

// A golden table without its comment lines.
std::string Golden(const std::string& name) {
  std::ifstream file(std::string(STRATA_GOLDEN_DIR) + "/" + name);
  EXPECT_TRUE(file.is_open()) << name;
  std::string text;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with('#')) text += line + "\n";
  }
  return text;
}

TEST(TopologyGolden, Bruck) {
  std::string text;
  for (int n = 1; n <= 9; ++n) text += BruckTable(n);
  EXPECT_EQ(text, Golden("topology_bruck.txt"));
}

TEST(TopologyGolden, HalvingPairLast) {
  std::string text;
  for (int n = 1; n <= 9; ++n) text += HalvingTable(n, HalvingForm::kPairLast);
  EXPECT_EQ(text, Golden("topology_halving_lightgbm.txt"));
}

TEST(TopologyGolden, HalvingFoldFirst) {
  std::string text;
  for (int n = 1; n <= 9; ++n) text += HalvingTable(n, HalvingForm::kFoldFirst);
  EXPECT_EQ(text, Golden("topology_halving_virtual.txt"));
}

TEST(BruckMap, AllgatherBySetSimulation) {
  for (int n = 1; n <= kWorldMax; ++n) {
    SCOPED_TRACE(n);
    std::vector<BruckMap> maps;
    std::vector<std::set<int>> held(static_cast<size_t>(n));
    for (int r = 0; r < n; ++r) {
      maps.push_back(MakeBruckMap(n, r));
      held[static_cast<size_t>(r)].insert(r);
      ASSERT_EQ(maps.back().steps.size(),
                static_cast<size_t>(std::bit_width(static_cast<unsigned>(n - 1))));
    }
    for (size_t j = 0; j < maps[0].steps.size(); ++j) {
      const auto before = held;
      for (int r = 0; r < n; ++r) {
        const BruckStep& step = maps[static_cast<size_t>(r)].steps[j];
        const BruckStep& sender = maps[static_cast<size_t>(step.in)].steps[j];
        ASSERT_EQ(sender.out, r);
        ASSERT_EQ(sender.send, step.recv);
        for (int i = 0; i < step.recv.count; ++i) {
          const int block = (step.recv.start + i) % n;
          ASSERT_TRUE(before[static_cast<size_t>(step.in)].contains(block));
          ASSERT_TRUE(held[static_cast<size_t>(r)].insert(block).second) << "received twice";
        }
      }
    }
    for (const auto& blocks : held) EXPECT_EQ(blocks.size(), static_cast<size_t>(n));
  }
}

// What each rank has summed into each block: contributors[rank][block] is a set of ranks.
using Contributors = std::vector<std::vector<std::set<int>>>;

void AddInto(Contributors* sums, const Contributors& from, int source, int target,
             BlockRange blocks) {
  for (int b = blocks.start; b < blocks.start + blocks.count; ++b) {
    auto& into = (*sums)[static_cast<size_t>(target)][static_cast<size_t>(b)];
    for (int rank : from[static_cast<size_t>(source)][static_cast<size_t>(b)]) {
      ASSERT_TRUE(into.insert(rank).second) << "rank " << rank << " counted twice in block " << b;
    }
  }
}

void CheckRounds(const std::vector<HalvingMap>& maps, Contributors* sums) {
  const int n = static_cast<int>(maps.size());
  std::vector<BlockRange> range(maps.size(), BlockRange{0, n});
  size_t rounds = 0;
  for (const HalvingMap& map : maps) rounds = std::max(rounds, map.rounds.size());
  for (size_t i = 0; i < rounds; ++i) {
    const Contributors before = *sums;
    for (const HalvingMap& map : maps) {
      if (map.type == NodeType::kOther) continue;
      ASSERT_EQ(map.rounds.size(), rounds);
      const HalvingRound& mine = map.rounds[i];
      const HalvingRound& peers = maps[static_cast<size_t>(mine.peer)].rounds[i];
      ASSERT_EQ(peers.peer, map.rank);
      ASSERT_EQ(mine.send, peers.recv);
      // The two ranges cut in two what this rank held.
      BlockRange& held = range[static_cast<size_t>(map.rank)];
      const BlockRange& low = mine.send.start < mine.recv.start ? mine.send : mine.recv;
      const BlockRange& high = mine.send.start < mine.recv.start ? mine.recv : mine.send;
      ASSERT_EQ(low.start, held.start);
      ASSERT_EQ(low.start + low.count, high.start);
      ASSERT_EQ(high.start + high.count, held.start + held.count);
      held = mine.recv;
      ASSERT_NO_FATAL_FAILURE(AddInto(sums, before, mine.peer, map.rank, mine.recv));
    }
  }
}

TEST(HalvingMap, ReduceScatterBySetSimulation) {
  for (HalvingForm form : kForms) {
    for (int n = 1; n <= kWorldMax; ++n) {
      SCOPED_TRACE(std::string(HalvingFormName(form)) + " n=" + std::to_string(n));
      std::vector<HalvingMap> maps;
      Contributors sums(static_cast<size_t>(n), std::vector<std::set<int>>(static_cast<size_t>(n)));
      for (int r = 0; r < n; ++r) {
        maps.push_back(MakeHalvingMap(n, r, form));
        for (auto& block : sums[static_cast<size_t>(r)]) block.insert(r);
      }
      const Contributors inputs = sums;
      for (const HalvingMap& map : maps) {
        if (map.type == NodeType::kNormal) continue;
        const HalvingMap& pair = maps[static_cast<size_t>(map.neighbour)];
        ASSERT_EQ(pair.neighbour, map.rank);
        ASSERT_NE(pair.type, map.type);
        if (map.type == NodeType::kLeader) {
          ASSERT_NO_FATAL_FAILURE(AddInto(&sums, inputs, map.neighbour, map.rank, {0, n}));
        }
      }
      ASSERT_NO_FATAL_FAILURE(CheckRounds(maps, &sums));
      for (const HalvingMap& map : maps) {
        // The leader ends with both blocks of the pair and hands one back.
        const int holder = map.type == NodeType::kOther ? map.neighbour : map.rank;
        EXPECT_EQ(sums[static_cast<size_t>(holder)][static_cast<size_t>(map.rank)].size(),
                  static_cast<size_t>(n));
      }
    }
  }
}

TEST(HalvingMap, VirtualRanksAreNumberedWithoutGaps) {
  for (HalvingForm form : kForms) {
    for (int n = 1; n <= kWorldMax; ++n) {
      const int groups = static_cast<int>(std::bit_floor(static_cast<unsigned>(n)));
      int next = 0;
      int others = 0;
      for (int r = 0; r < n; ++r) {
        const HalvingMap map = MakeHalvingMap(n, r, form);
        if (map.type == NodeType::kOther) {
          EXPECT_EQ(map.virtual_rank, -1);
          EXPECT_TRUE(map.rounds.empty());
          ++others;
        } else {
          EXPECT_EQ(map.virtual_rank, next++);
        }
      }
      EXPECT_EQ(next, groups);
      EXPECT_EQ(others, n - groups);
    }
  }
}

TEST(CirculantPeers, SymmetricAndFew) {
  for (int n = 1; n <= kWorldMax; ++n) {
    std::vector<std::vector<int>> peers;
    for (int r = 0; r < n; ++r) peers.push_back(CirculantPeers(n, r));
    for (int r = 0; r < n; ++r) {
      EXPECT_LE(peers[static_cast<size_t>(r)].size(),
                2 * static_cast<size_t>(std::bit_width(static_cast<unsigned>(n - 1))));
      for (int peer : peers[static_cast<size_t>(r)]) {
        EXPECT_NE(peer, r);
        EXPECT_TRUE(std::ranges::binary_search(peers[static_cast<size_t>(peer)], r));
      }
    }
  }
}

TEST(CirculantPeers, KnownSets) {
  EXPECT_TRUE(CirculantPeers(1, 0).empty());
  EXPECT_EQ(CirculantPeers(6, 1), (std::vector<int>{0, 2, 3, 5}));
  EXPECT_EQ(CirculantPeers(8, 0), (std::vector<int>{1, 2, 4, 6, 7}));
  EXPECT_EQ(CirculantPeers(9, 0), (std::vector<int>{1, 2, 4, 5, 7, 8}));
  EXPECT_EQ(CirculantPeers(64, 0).size(), 11u);
}

}  // namespace
}  // namespace strata
