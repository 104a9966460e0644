#include "tools/admin/collection/stored_documents.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/human_text.h"

namespace strata::admin {
namespace {

constexpr size_t kIdsOfACall = 1024;  // --timeout is for one call
constexpr size_t kShownIds = 10;

// Large documents together may be more than a reply holds: then in halves.
Status FindInto(Collections& collections, const std::string& name, std::span<const DocumentId> ids,
                std::vector<Document>* found) {
  Result<std::vector<Document>> some = collections.Get(name, ids);
  if (some.status().code() == StatusCode::kInvalid && ids.size() > 1) {
    const size_t half = ids.size() / 2;
    STRATA_TRY(FindInto(collections, name, ids.first(half), found));
    return FindInto(collections, name, ids.subspan(half), found);
  }
  STRATA_TRY(some.status());
  std::ranges::move(*some, std::back_inserter(*found));
  return {};
}

}  // namespace

Status NoCollection(const std::string& name) {
  return NotFound(fmt::format(
      "there is no collection '{}'; strata-admin collection stats names those that there are",
      name));
}

Result<CollectionSpec> FindCollection(Collections& collections, const std::string& name) {
  STRATA_ASSIGN(std::vector<CollectionSpec> specs, collections.List());
  const auto spec = std::ranges::find(specs, name, &CollectionSpec::name);
  if (spec != specs.end()) return std::move(*spec);
  return NoCollection(name);
}

std::vector<DocumentId> EachOnce(std::span<const DocumentId> ids) {
  std::vector<DocumentId> once(ids.begin(), ids.end());
  std::ranges::sort(once);
  once.erase(std::ranges::unique(once).begin(), once.end());
  return once;
}

Result<std::vector<Document>> FindDocuments(Collections& collections, const std::string& name,
                                            std::span<const DocumentId> ids,
                                            DocumentProgress* progress) {
  const std::vector<DocumentId> once = EachOnce(ids);
  std::vector<Document> found;
  for (std::span<const DocumentId> left = once; !left.empty();) {
    const size_t some = std::min(left.size(), kIdsOfACall);
    STRATA_TRY(FindInto(collections, name, left.first(some), &found));
    left = left.subspan(some);
    if (progress == nullptr) continue;
    progress->Show(found.size(), static_cast<double>(once.size() - left.size()) /
                                     static_cast<double>(once.size()));
  }
  return found;
}

Status CheckAllFound(const std::string& name, std::span<const DocumentId> ids,
                     std::span<const Document> found) {
  std::vector<DocumentId> missing;
  for (const DocumentId id : ids) {
    if (!std::ranges::binary_search(found, id, {}, &Document::id)) missing.push_back(id);
  }
  if (missing.empty()) return {};
  const size_t shown = std::min(missing.size(), kShownIds);
  return NotFound(fmt::format("collection '{}' has no document {}{}", name,
                              fmt::join(std::span(missing).first(shown), ", "),
                              shown < missing.size()
                                  ? fmt::format(" and {} more", HumanCount(missing.size() - shown))
                                  : ""));
}

bool IsAsBefore(Collections& collections, const std::string& name,
                const std::vector<Collections::LaneMark>& before) {
  const auto marks = collections.MarksByLane(name);
  return marks.ok() && *marks == before;
}

}  // namespace strata::admin
