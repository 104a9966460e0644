// Ids of documents in a file, as strata-admin collection takes them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file/disk.h"
#include "strata/document.h"
#include "strata/status.h"

namespace strata::admin {

// Whole numbers, one a line or several with commas or blanks between them; empty lines, and the
// mark that says it is UTF-8, are fine. kInvalid names the line of one that is no id.
Result<std::vector<DocumentId>> ParseIds(std::string_view text);

// ParseIds of a file, or the elements of a .npy of one dimension, with its name in errors.
// kNotFound: no such file.
Result<std::vector<DocumentId>> ReadIds(Disk& disk, const std::string& path);

// kInvalid names an id that two documents would have, and which, by their places in the file.
Status CheckIdsOnce(std::span<const DocumentId> ids, const std::string& path);

}  // namespace strata::admin
