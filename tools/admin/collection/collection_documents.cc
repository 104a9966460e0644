// strata-admin collection get and delete: documents by their ids.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/human_text.h"
#include "tools/admin/collection/document_progress.h"
#include "tools/admin/collection/id_file.h"
#include "tools/admin/collection/stored_documents.h"
#include "tools/admin/commands.h"
#include "tools/admin/tables/store.h"
#include "tools/admin/text/json_line.h"
#include "tools/admin/text/table_text.h"

namespace strata::admin {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kDeletesOfACall = 4096;  // --timeout is for one call

// Those of the command line, then those of the file.
Result<std::vector<DocumentId>> IdsOf(const CollectionRequest& request) {
  std::vector<DocumentId> ids = request.ids;
  if (!request.ids_file.empty()) {
    STRATA_ASSIGN(const auto of_file, ReadIds(RealDisk(), request.ids_file));
    if (of_file.empty()) {
      return Invalid(fmt::format("{}: expected ids, one a line; found none", request.ids_file));
    }
    ids.insert(ids.end(), of_file.begin(), of_file.end());
  }
  if (ids.empty()) return Invalid("expected ids of documents, or --ids FILE; found none");
  return ids;
}

std::string AsJson(const CollectionSpec& spec, const std::vector<Document>& documents) {
  std::string lines;
  for (const Document& document : documents) {
    Json attributes = Json::object();
    for (size_t i = 0; i < spec.attributes.size(); ++i) {
      attributes[spec.attributes[i]] = document.attributes[i];
    }
    lines += JsonLine(
        {{"id", document.id}, {"attributes", std::move(attributes)}, {"tokens", document.tokens}});
  }
  return lines;
}

// Tokens as a line of a file has them, and --query takes them.
std::string AsText(const CollectionSpec& spec, const std::vector<Document>& documents) {
  std::vector<TableText::Column> columns = {{"document", TableText::Align::kRight}};
  for (const std::string& name : spec.attributes) {
    columns.push_back({name, TableText::Align::kRight});
  }
  columns.push_back({"tokens"});
  TableText text(std::move(columns));
  for (const Document& document : documents) {
    std::vector<std::string> cells = {fmt::to_string(document.id)};
    for (const int64_t value : document.attributes) cells.push_back(fmt::to_string(value));
    cells.push_back(fmt::format("{}", fmt::join(document.tokens, ",")));
    text.AddRow(std::move(cells));
  }
  return text.ToString();
}

}  // namespace

Status RunCollectionGet(const Request& request, std::string* out) {
  const std::string& name = request.collection.name;
  STRATA_ASSIGN(const std::vector<DocumentId> ids, IdsOf(request.collection));
  STRATA_ASSIGN(const auto store, ConnectStore(request));
  Collections collections(*store);
  STRATA_ASSIGN(const CollectionSpec spec, FindCollection(collections, name));
  DocumentProgress progress("get");
  STRATA_ASSIGN(const std::vector<Document> found,
                FindDocuments(collections, name, ids, &progress));
  for (const Document& document : found) {
    if (document.attributes.size() == spec.attributes.size()) continue;
    return Failed(
        fmt::format("document {} has {}, and collection '{}' had {}: it was replaced by "
                    "another one meanwhile; ask again",
                    document.id, Counted(document.attributes.size(), "attribute"), name,
                    spec.attributes.size()));
  }
  if (request.output == Request::Output::kJson) {
    *out = AsJson(spec, found);
  } else if (!found.empty()) {
    *out = AsText(spec, found);
  }
  return CheckAllFound(name, ids, found);
}

Status RunCollectionDelete(const Request& request, std::string* out) {
  const std::string& name = request.collection.name;
  STRATA_ASSIGN(const std::vector<DocumentId> given, IdsOf(request.collection));
  const std::vector<DocumentId> ids = EachOnce(given);
  STRATA_ASSIGN(const auto store, ConnectStore(request));
  Collections collections(*store);
  STRATA_TRY(FindCollection(collections, name).status());
  STRATA_ASSIGN(const auto before, collections.MarksByLane(name));
  const auto erase = [&](std::span<const DocumentId> some) -> Result<size_t> {
    STRATA_ASSIGN(const std::vector<Document> found, FindDocuments(collections, name, some));
    STRATA_TRY(collections.Delete(name, some, request.collection.ack));
    return found.size();
  };
  DocumentProgress progress("delete");
  size_t deleted = 0;
  for (std::span<const DocumentId> left = ids; !left.empty();) {
    const auto some = left.first(std::min(left.size(), kDeletesOfACall));
    const Result<size_t> gone = erase(some);
    if (!gone.ok()) {
      const bool is_refused = gone.status().code() == StatusCode::kRefused && deleted == 0;
      return Status(gone.status().code(),
                    gone.status().message() + "\n" +
                        (is_refused && IsAsBefore(collections, name, before)
                             ? "no document was deleted"
                             : fmt::format("{} are deleted, some more may be: to go on, give the "
                                           "same command again",
                                           Counted(deleted, "document"))));
    }
    deleted += *gone;
    left = left.subspan(some.size());
    progress.Show(deleted,
                  static_cast<double>(ids.size() - left.size()) / static_cast<double>(ids.size()));
  }
  const double seconds = progress.Seconds();
  if (request.output == Request::Output::kJson) {
    *out = JsonLine({{"collection", name},
                     {"ids", ids.size()},
                     {"deleted", deleted},
                     {"seconds", seconds},
                     {"documents_per_second", DocumentsPerSecond(deleted, seconds)}});
    return {};
  }
  *out = DoneLine("deleted", deleted, "of collection " + name, seconds);
  if (deleted < ids.size()) {
    *out += fmt::format(": there were none of {}", Counted(ids.size() - deleted, "id"));
  }
  *out += '\n';
  return {};
}

}  // namespace strata::admin
