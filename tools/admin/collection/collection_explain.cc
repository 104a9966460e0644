// strata-admin collection explain: what the planner of each lane chose for a search, what it
// expected, and what happened.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/human_text.h"
#include "tools/admin/collection/collection_queries.h"
#include "tools/admin/commands.h"
#include "tools/admin/text/json_line.h"
#include "tools/admin/text/table_text.h"

namespace strata::admin {
namespace {

using Json = nlohmann::ordered_json;
using Explanation = wire::SearchExplanation;

// By their numbers in docs/protocol.md.
constexpr std::array<const char*, 4> kEngines = {"counting", "scanning", "counting on a GPU",
                                                 "scanning on a GPU"};

std::string EngineName(uint32_t engine) {
  return engine < kEngines.size() ? kEngines.at(engine) : fmt::format("engine {}", engine);
}

// Nanoseconds, of all the messages that it was asked with, one after the other. What is of a batch
// is of all of its queries, those of other clients too.
struct LaneUse {
  std::string name;
  bool is_known = true;  // false: its server is too old to say
  uint64_t queries = 0;
  uint64_t of_others = 0;  // in the same batches
  uint64_t batches = 0;
  uint64_t documents = 0;
  uint64_t blocks = 0;
  uint64_t threads = 0;
  uint64_t waited = 0;
  uint64_t expected = 0;
  uint64_t took = 0;
  uint64_t planning = 0;
  uint64_t counting_alone = 0;
  uint64_t scanning_alone = 0;
  std::optional<uint64_t> gpu_alone = 0;  // none: no GPU could answer
  uint64_t load_pieces = 0;
  uint64_t load_expected = 0;
  uint64_t load_took = 0;
  uint64_t gpu_refusals = 0;
  std::map<uint32_t, Explanation::Engine> engines = {};

  void AddEngine(const Explanation::Engine& more) {
    Explanation::Engine& sum = engines[more.engine];
    sum.queries += more.queries;
    sum.groups += more.groups;
    sum.expected_ns += more.expected_ns;
    sum.by_rates_ns += more.by_rates_ns;
    sum.took_ns += more.took_ns;
    sum.expected_candidates += more.expected_candidates;
    sum.candidates += more.candidates;
  }
  void Add(uint32_t asked, const Explanation& more) {
    ++batches;
    of_others += more.queries - std::min(asked, more.queries);
    waited += more.waited_ns;
    took += more.took_ns;
    uint64_t of_documents = 0;
    uint64_t of_blocks = 0;
    for (const Explanation::Part& part : more.parts) {
      of_documents += part.documents;
      of_blocks += part.blocks;
      threads = std::max<uint64_t>(threads, part.threads);
      expected += part.expected_ns;
      planning += part.planning_ns;
      counting_alone += part.counting_ns;
      scanning_alone += part.scanning_ns;
      if (part.gpu_ns == Explanation::kNone) gpu_alone.reset();
      if (gpu_alone) *gpu_alone += part.gpu_ns;
      load_pieces += part.load_pieces;
      load_expected += part.load_expected_ns;
      load_took += part.load_ns;
      gpu_refusals += part.is_gpu_refused ? 1 : 0;
      for (const Explanation::Engine& engine : part.engines) AddEngine(engine);
    }
    if (more.parts.empty()) gpu_alone.reset();
    documents = std::max(documents, of_documents);
    blocks = std::max(blocks, of_blocks);
  }
};

std::vector<LaneUse> LanesOf(const std::vector<LaneExplanation>& explained) {
  std::map<std::pair<uint16_t, uint16_t>, LaneUse> lanes;
  for (const LaneExplanation& of : explained) {
    LaneUse& lane = lanes[{of.lane.server, of.lane.lane}];
    lane.name = fmt::format("server {} lane {}", of.lane.server, of.lane.lane);
    lane.queries += of.queries;
    if (of.explanation) {
      lane.Add(of.queries, *of.explanation);
    } else {
      lane.is_known = false;
    }
  }
  std::vector<LaneUse> all;
  for (auto& [name, lane] : lanes) all.push_back(std::move(lane));
  return all;
}

// Lanes work at the same time: of times the longest. Every query is every lane's. What engines did
// is added up.
LaneUse SumOf(const std::vector<LaneUse>& lanes) {
  LaneUse sum{.name = "all lanes"};
  for (const LaneUse& lane : lanes) {
    sum.queries = std::max(sum.queries, lane.queries);
    if (!lane.is_known) continue;
    sum.of_others = std::max(sum.of_others, lane.of_others);
    sum.batches = std::max(sum.batches, lane.batches);
    sum.documents += lane.documents;
    sum.blocks += lane.blocks;
    sum.threads += lane.threads;
    sum.waited = std::max(sum.waited, lane.waited);
    sum.expected = std::max(sum.expected, lane.expected);
    sum.took = std::max(sum.took, lane.took);
    sum.planning = std::max(sum.planning, lane.planning);
    sum.counting_alone = std::max(sum.counting_alone, lane.counting_alone);
    sum.scanning_alone = std::max(sum.scanning_alone, lane.scanning_alone);
    if (!lane.gpu_alone) sum.gpu_alone.reset();
    if (sum.gpu_alone) sum.gpu_alone = std::max(*sum.gpu_alone, *lane.gpu_alone);
    sum.load_pieces += lane.load_pieces;
    sum.load_expected = std::max(sum.load_expected, lane.load_expected);
    sum.load_took = std::max(sum.load_took, lane.load_took);
    sum.gpu_refusals += lane.gpu_refusals;
    for (const auto& [number, engine] : lane.engines) {
      Explanation::Engine more = engine;
      more.engine = number;
      sum.AddEngine(more);
    }
  }
  return sum;
}

double Milliseconds(uint64_t ns) { return static_cast<double>(ns) / 1e6; }
std::string Shown(uint64_t ns) { return fmt::format("{:.3f} ms", Milliseconds(ns)); }
bool IsOfGpu(uint32_t engine) { return engine >= 2; }

std::string AsText(const std::vector<LaneUse>& lanes) {
  using enum TableText::Align;
  TableText plans({{"lane"},
                   {"queries", kRight},
                   {"of others", kRight},
                   {"documents", kRight},
                   {"threads", kRight},
                   {"waited", kRight},
                   {"expected", kRight},
                   {"took", kRight},
                   {"planning", kRight},
                   {"counting alone", kRight},
                   {"scanning alone", kRight},
                   {"a GPU alone", kRight}});
  TableText engines({{"lane"},
                     {"engine"},
                     {"queries", kRight},
                     {"groups", kRight},
                     {"expected", kRight},
                     {"by rates", kRight},
                     {"took", kRight},
                     {"candidates expected", kRight},
                     {"candidates", kRight}});
  std::string notes;
  for (const LaneUse& lane : lanes) {
    if (!lane.is_known) {
      plans.AddRow(
          {lane.name, HumanCount(lane.queries), "-", "-", "-", "-", "-", "-", "-", "-", "-", "-"});
      notes += fmt::format(
          "{} does not say how it found its answers: its server is of an earlier version\n",
          lane.name);
      continue;
    }
    plans.AddRow({lane.name, HumanCount(lane.queries), HumanCount(lane.of_others),
                  HumanCount(lane.documents), HumanCount(lane.threads), Shown(lane.waited),
                  Shown(lane.expected), Shown(lane.took), Shown(lane.planning),
                  Shown(lane.counting_alone), Shown(lane.scanning_alone),
                  lane.gpu_alone ? Shown(*lane.gpu_alone) : "-"});
    for (const auto& [number, engine] : lane.engines) {
      const bool is_of_gpu = IsOfGpu(number);
      engines.AddRow({lane.name, EngineName(number), HumanCount(engine.queries),
                      HumanCount(engine.groups), Shown(engine.expected_ns),
                      Shown(engine.by_rates_ns), Shown(engine.took_ns),
                      is_of_gpu ? "-" : HumanCount(engine.expected_candidates),
                      is_of_gpu ? "-" : HumanCount(engine.candidates)});
    }
    if (lane.load_pieces > 0) {
      notes += fmt::format("{}: documents were brought to the GPU in {}: expected {}, took {}\n",
                           lane.name, Counted(lane.load_pieces, "piece"), Shown(lane.load_expected),
                           Shown(lane.load_took));
    }
    if (lane.gpu_refusals > 0) {
      notes += fmt::format(
          "{}: a GPU was chosen and had no memory for it, so processors searched\n", lane.name);
    }
  }
  return plans.ToString() + "\n" + engines.ToString() + notes;
}

Json AsJson(const LaneUse& lane) {
  Json json = {{"lane", lane.name}, {"queries", lane.queries}, {"explained", lane.is_known}};
  if (!lane.is_known) return json;
  json.update(Json{{"queries_of_others", lane.of_others},
                   {"batches", lane.batches},
                   {"documents", lane.documents},
                   {"blocks", lane.blocks},
                   {"threads", lane.threads},
                   {"waited_ms", Milliseconds(lane.waited)},
                   {"expected_ms", Milliseconds(lane.expected)},
                   {"took_ms", Milliseconds(lane.took)},
                   {"planning_ms", Milliseconds(lane.planning)},
                   {"counting_alone_ms", Milliseconds(lane.counting_alone)},
                   {"scanning_alone_ms", Milliseconds(lane.scanning_alone)},
                   {"gpu_alone_ms", nullptr},
                   {"gpu_load_pieces", lane.load_pieces},
                   {"gpu_load_expected_ms", Milliseconds(lane.load_expected)},
                   {"gpu_load_took_ms", Milliseconds(lane.load_took)},
                   {"gpu_refusals", lane.gpu_refusals}});
  if (lane.gpu_alone) json["gpu_alone_ms"] = Milliseconds(*lane.gpu_alone);
  Json& engines = json["engines"] = Json::array();
  for (const auto& [number, engine] : lane.engines) {
    Json& of = engines.emplace_back(Json{{"engine", EngineName(number)},
                                         {"queries", engine.queries},
                                         {"groups", engine.groups},
                                         {"expected_ms", Milliseconds(engine.expected_ns)},
                                         {"by_rates_ms", Milliseconds(engine.by_rates_ns)},
                                         {"took_ms", Milliseconds(engine.took_ns)}});
    if (IsOfGpu(number)) continue;
    of["candidates_expected"] = engine.expected_candidates;
    of["candidates"] = engine.candidates;
  }
  return json;
}

}  // namespace

Status RunCollectionExplain(const Request& request, std::string* out) {
  STRATA_ASSIGN(const CollectionAnswers answers, AskCollection(request, true));
  size_t found = 0;
  for (const std::vector<Hit>& hits : answers.hits) found += hits.size();
  std::vector<LaneUse> lanes = LanesOf(answers.explained);
  const LaneUse sum = SumOf(lanes);
  if (request.output == Request::Output::kJson) {
    Json by_lane = Json::array();
    for (const LaneUse& lane : lanes) by_lane.push_back(AsJson(lane));
    *out = JsonLine({{"collection", request.collection.name},
                     {"queries", answers.queries.size()},
                     {"found", found},
                     {"milliseconds", answers.ms},
                     {"all_lanes", AsJson(sum)},
                     {"lanes", std::move(by_lane)}});
    return {};
  }
  lanes.push_back(sum);
  *out = fmt::format("queries answered: {} in {:.1f} ms, {} found\n\n",
                     HumanCount(answers.queries.size()), answers.ms, Counted(found, "document"));
  *out += AsText(lanes);
  return {};
}

}  // namespace strata::admin
