#include "cluster/topology/render.h"

#include <fmt/format.h>

#include <algorithm>

namespace strata {

std::string BruckLine(const BruckMap& map) {
  std::string line = fmt::format("r{}", map.rank);
  for (const BruckStep& step : map.steps) line += fmt::format(" {}/{}", step.in, step.out);
  return line;
}

std::string HalvingLine(const HalvingMap& map) {
  std::string line = fmt::format("r{} ", map.rank);
  switch (map.type) {
    case NodeType::kNormal:
      line += "N";
      break;
    case NodeType::kLeader:
      line += fmt::format("L({})", map.neighbour);
      break;
    case NodeType::kOther:
      line += fmt::format("O({})", map.neighbour);
      break;
  }
  for (const HalvingRound& round : map.rounds) {
    line += fmt::format(" {}:{}+{}/{}+{}", round.peer, round.send.start, round.send.count,
                        round.recv.start, round.recv.count);
  }
  return line;
}

std::string BruckTable(int world) {
  std::string table = fmt::format("n={} steps={}\n", world, MakeBruckMap(world, 0).steps.size());
  for (int rank = 0; rank < world; ++rank) table += BruckLine(MakeBruckMap(world, rank)) + "\n";
  return table;
}

std::string HalvingTable(int world, HalvingForm form) {
  size_t rounds = 0;
  std::string lines;
  for (int rank = 0; rank < world; ++rank) {
    const HalvingMap map = MakeHalvingMap(world, rank, form);
    rounds = std::max(rounds, map.rounds.size());
    lines += HalvingLine(map) + "\n";
  }
  return fmt::format("n={} rounds={}\n", world, rounds) + lines;
}

}  // namespace strata
