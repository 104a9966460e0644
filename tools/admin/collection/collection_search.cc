// strata-admin collection search: queries from the command line or from files; answers as a table,
// as a JSON object a query, or in the form of the contest that the problem comes from.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/file/disk.h"
#include "base/file/output_file.h"
#include "base/human_text.h"
#include "tools/admin/collection/collection_queries.h"
#include "tools/admin/commands.h"
#include "tools/admin/text/json_line.h"
#include "tools/admin/text/table_text.h"

namespace strata::admin {
namespace {

using Json = nlohmann::ordered_json;
using Answers = std::vector<std::vector<Hit>>;

Fraction SimilarityOfHit(const Hit& hit, SetMetric metric, size_t query_length) {
  return Similarity(metric, hit.overlap, static_cast<uint32_t>(query_length), hit.length);
}

// Before anything is asked for, as answers that have no place are lost. Nor may they take the place
// of what is asked.
Status CheckAnswersFile(const Request& request) {
  const std::string& path = request.collection.to;
  if (IsStandardOutput(path) && request.output == Request::Output::kJson) {
    return Invalid(fmt::format(
        "--to {}: its answers and those of -o json exclude each other on standard output: give one",
        path));
  }
  for (const std::string_view packed : {".gz", ".bz2", ".xz", ".zst", ".zip"}) {
    if (!path.ends_with(packed)) continue;
    return Invalid(fmt::format(
        "--to {}: expected a file of text, found the name of a packed one: give {}, and pack it",
        path, path.substr(0, path.size() - packed.size())));
  }
  const NamedFile answers = {fmt::format("--to {}", path), path};
  const std::array<NamedFile, 2> queries = {
      {{"--queries", request.collection.file}, {"--offsets", request.collection.offsets}}};
  return CheckOutputFiles(RealDisk(), {&answers, 1}, queries);
}

// The measured milliseconds, then a line for each query: documents' ids, tabs between them.
Status WriteContestFile(const std::string& path, double ms, const Answers& answers) {
  std::string text = fmt::format("{:.3f}\n", ms);
  for (const std::vector<Hit>& of_query : answers) {
    for (size_t i = 0; i < of_query.size(); ++i) {
      text += fmt::format("{}{}", i == 0 ? "" : "\t", of_query[i].id);
    }
    text += '\n';
  }
  return WriteOutput(RealDisk(), path, text);
}

std::string AsJson(const Answers& answers, const std::vector<CollectionQuery>& queries,
                   const SetList& sets, SetMetric metric) {
  std::string lines;
  for (size_t i = 0; i < answers.size(); ++i) {
    Json line = {{"query", i}};
    if (!queries[i].file.empty()) line["file"] = queries[i].file;
    if (queries[i].like) line["like"] = *queries[i].like;
    Json& hits = line["hits"] = Json::array();
    for (const Hit& hit : answers[i]) {
      hits.push_back({{"id", hit.id},
                      {"score", ScoreOf(metric, hit, static_cast<uint32_t>(sets[i].size()))},
                      {"overlap", hit.overlap},
                      {"tokens", hit.length}});
    }
    lines += JsonLine(line);
  }
  return lines;
}

// Where queries have names there is a column of them. One that found nothing has a line, too.
std::string AsText(const Answers& answers, const std::vector<CollectionQuery>& queries,
                   const SetList& sets, SetMetric metric) {
  using enum TableText::Align;
  const auto name = [](const CollectionQuery& query) {
    return query.like ? fmt::format("like {}", *query.like) : query.file;
  };
  const bool named = std::ranges::any_of(
      queries, [&](const CollectionQuery& query) { return !name(query).empty(); });
  std::vector<TableText::Column> columns = {{"query", kRight}};
  if (named) columns.push_back({"from"});
  columns.insert(
      columns.end(),
      {{"document", kRight}, {"score", kRight}, {"in common", kRight}, {"its tokens", kRight}});
  TableText text(std::move(columns));
  const auto add = [&](size_t i, std::vector<std::string> cells) {
    if (named) cells.insert(cells.begin(), name(queries[i]));
    cells.insert(cells.begin(), fmt::to_string(i));
    text.AddRow(std::move(cells));
  };
  for (size_t i = 0; i < answers.size(); ++i) {
    if (answers[i].empty()) add(i, {"-", "-", "-", "-"});
    for (const Hit& hit : answers[i]) {
      add(i,
          {fmt::to_string(hit.id), ScoreText(metric, SimilarityOfHit(hit, metric, sets[i].size())),
           fmt::to_string(hit.overlap), fmt::to_string(hit.length)});
    }
  }
  return text.ToString();
}

}  // namespace

Status RunCollectionSearch(const Request& request, std::string* out) {
  const CollectionRequest& search = request.collection;
  if (!search.to.empty()) STRATA_TRY(CheckAnswersFile(request));
  STRATA_ASSIGN(const CollectionAnswers answers, AskCollection(request, false));
  const auto& [queries, hits, ms, explained] = answers;
  SetLists sets;
  for (const CollectionQuery& query : queries) sets.Add(query.tokens);
  if (!search.to.empty()) {
    STRATA_TRY(WriteContestFile(search.to, ms, hits));
    if (request.output == Request::Output::kJson) {
      *out = JsonLine({{"queries", queries.size()}, {"milliseconds", ms}, {"file", search.to}});
    } else if (!IsStandardOutput(search.to)) {
      *out = fmt::format("queries answered: {} in {:.1f} ms, see {}\n", HumanCount(queries.size()),
                         ms, search.to);
    }
  } else if (request.output == Request::Output::kJson) {
    *out = AsJson(hits, queries, sets.view(), search.goal.metric);
  } else {
    *out = AsText(hits, queries, sets.view(), search.goal.metric);
  }
  return {};
}

}  // namespace strata::admin
