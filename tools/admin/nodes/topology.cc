// strata-admin topology: the maps that say which rank exchanges what with whom. Pure: no node is
// asked.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cluster/topology/bruck.h"
#include "cluster/topology/peers.h"
#include "cluster/topology/render.h"
#include "tools/admin/commands.h"
#include "tools/admin/nodes/cluster_view.h"
#include "tools/admin/text/json_line.h"

namespace strata::admin {
namespace {

using Json = nlohmann::ordered_json;

Json ToJson(const BlockRange& blocks) { return {{"start", blocks.start}, {"count", blocks.count}}; }

Json ToJson(const BruckMap& map) {
  Json steps = Json::array();
  for (const BruckStep& step : map.steps) {
    steps.push_back({{"in", step.in},
                     {"out", step.out},
                     {"send", ToJson(step.send)},
                     {"recv", ToJson(step.recv)}});
  }
  return {{"rank", map.rank}, {"steps", std::move(steps)}};
}

Json ToJson(const HalvingMap& map) {
  Json rounds = Json::array();
  for (const HalvingRound& round : map.rounds) {
    rounds.push_back(
        {{"peer", round.peer}, {"send", ToJson(round.send)}, {"recv", ToJson(round.recv)}});
  }
  const auto or_null = [](int rank) { return rank < 0 ? Json() : Json(rank); };
  return {{"rank", map.rank},
          {"type", NodeTypeName(map.type)},
          {"neighbour", or_null(map.neighbour)},
          {"virtual_rank", or_null(map.virtual_rank)},
          {"rounds", std::move(rounds)}};
}

std::string TopologyJson(int world, HalvingForm form) {
  Json bruck = Json::array();
  Json halving = Json::array();
  Json links = Json::array();
  for (int rank = 0; rank < world; ++rank) {
    bruck.push_back(ToJson(MakeBruckMap(world, rank)));
    halving.push_back(ToJson(MakeHalvingMap(world, rank, form)));
    links.push_back({{"rank", rank}, {"peers", CirculantPeers(world, rank)}});
  }
  const Json topology = {{"world", world},
                         {"form", HalvingFormName(form)},
                         {"bruck", std::move(bruck)},
                         {"recursive_halving", std::move(halving)},
                         {"links", std::move(links)}};
  return JsonLine(topology);
}

std::string TopologyText(int world, HalvingForm form) {
  std::string links;
  for (int rank = 0; rank < world; ++rank) {
    links += fmt::format("r{} {}\n", rank, fmt::join(CirculantPeers(world, rank), " "));
  }
  return fmt::format(
      "Bruck allgather: rank, then in/out of each step\n{}\n"
      "Recursive halving, {}: rank, N(ormal) L(eader) or O(ther) with its neighbour, then "
      "peer:send/recv of each round, blocks as start+count\n{}\n"
      "Links from the start: rank, then its peers at distances of powers of two\n{}",
      BruckTable(world), HalvingFormName(form), HalvingTable(world, form), links);
}

}  // namespace

Status RunTopology(const Request& request, std::string* out) {
  STRATA_ASSIGN(const int world, WorldOf(request));
  *out = request.output == Request::Output::kJson ? TopologyJson(world, request.form)
                                                  : TopologyText(world, request.form);
  return {};
}

}  // namespace strata::admin
