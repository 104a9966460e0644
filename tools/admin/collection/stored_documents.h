// What the commands of strata-admin collection ask a cluster for before they begin.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ps/client/collections.h"
#include "strata/status.h"
#include "tools/admin/collection/document_progress.h"

namespace strata::admin {

// kNotFound: a command named a collection that there is not; says how to see those that there are.
Status NoCollection(const std::string& name);

// NoCollection: there is no such one.
Result<CollectionSpec> FindCollection(Collections& collections, const std::string& name);

// By rising id, without repeats.
std::vector<DocumentId> EachOnce(std::span<const DocumentId> ids);

// Collections::Get of any number of ids, in as many calls as their tokens take. Shows how far it
// is, if `progress` is given.
Result<std::vector<Document>> FindDocuments(Collections& collections, const std::string& name,
                                            std::span<const DocumentId> ids,
                                            DocumentProgress* progress = nullptr);

// kNotFound, with the first of them: the collection has no document of some of the ids. `found`: by
// rising id.
Status CheckAllFound(const std::string& name, std::span<const DocumentId> ids,
                     std::span<const Document> found);

// Whether all lanes say that no document was put in or deleted since `before`.
bool IsAsBefore(Collections& collections, const std::string& name,
                const std::vector<Collections::LaneMark>& before);

}  // namespace strata::admin
