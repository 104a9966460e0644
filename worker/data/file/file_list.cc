#include "worker/data/file/file_list.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string_view>
#include <utility>

#include "base/file/standard_input.h"
#include "base/human_text.h"

namespace strata {
namespace {

bool IsPattern(std::string_view text) { return text.find_first_of("*?[") != text.npos; }

// Takes the part up to the first slash off the path.
std::string TakePart(std::string_view* path) {
  const size_t end = std::min(path->find('/'), path->size());
  std::string part(path->substr(0, end));
  path->remove_prefix(std::min(end + 1, path->size()));
  return part;
}

// Appends what matches in `folder`, which is "" or ends with a slash.
Status Match(Disk& disk, const std::string& folder, std::string_view pattern,
             std::vector<std::string>* paths) {
  const std::string part = TakePart(&pattern);
  const bool is_last = pattern.empty();
  if (!is_last && !IsPattern(part)) return Match(disk, folder + part + "/", pattern, paths);
  STRATA_ASSIGN(const std::vector<std::string> names, disk.List(folder.empty() ? "." : folder));
  for (const std::string& name : names) {
    if (fnmatch(part.c_str(), name.c_str(), FNM_PERIOD) != 0) continue;
    if (is_last) {
      paths->push_back(folder + name);
    } else if (!disk.OpenToRead(folder + name).ok()) {  // a folder: files have no list
      STRATA_TRY(Match(disk, folder + name + "/", pattern, paths));
    }
  }
  return {};
}

// The files that one name stands for.
Result<std::vector<std::string>> FilesOf(Disk& disk, const std::string& name) {
  if (name.empty()) {
    return Invalid("an empty name: expected the path of a file, or a pattern such as \"day_*\"");
  }
  std::vector<std::string> paths = {name};
  if (!IsPattern(name) || disk.OpenToRead(name).ok()) return paths;
  paths.clear();
  STRATA_TRY(Match(disk, "", name, &paths).Prefixed(fmt::format("the pattern {}", name)));
  if (paths.empty()) {
    return Invalid(
        fmt::format("no file matches the pattern {}: expected at least one; * stands for any "
                    "characters of a name, ? for one, and [ab] for one of those",
                    name));
  }
  std::ranges::sort(paths);
  return paths;
}

// Sees files that are named twice.
class SeenFiles {
 public:
  explicit SeenFiles(Disk& disk) : disk_(disk) {}

  Status Add(const std::string& path) {
    const std::string plain = std::filesystem::path(path).lexically_normal();
    const std::string* before = FindOrAdd(plain, path, &by_path_);
    const Result<FileId> id = disk_.IdOf(path);
    // A disk that does not tell files apart gives 0 for all.
    if (before == nullptr && id.ok() && id->inode != 0) {
      before = FindOrAdd(std::pair(id->device, id->inode), path, &by_id_);
    }
    if (before == nullptr) return {};
    return Invalid(
        fmt::format("{} is named twice{}: expected each file once, as all of its rows "
                    "would count double",
                    path, *before == path ? "" : fmt::format(", also as {}", *before)));
  }

 private:
  // The path that came with the same key before, or null.
  template <typename Key>
  static const std::string* FindOrAdd(const Key& key, const std::string& path,
                                      std::map<Key, std::string>* seen) {
    const auto [place, is_new] = seen->emplace(key, path);
    return is_new ? nullptr : &place->second;
  }

  Disk& disk_;
  std::map<std::string, std::string> by_path_;
  std::map<std::pair<uint64_t, uint64_t>, std::string> by_id_;
};

}  // namespace

Result<std::vector<std::string>> FindDataFiles(Disk& disk, std::span<const std::string> names) {
  if (names.size() > 1 && std::ranges::any_of(names, IsStandardInput)) {
    return Invalid(
        "- is standard input: expected it alone, without other files; a file of that name is ./-");
  }
  std::vector<std::string> all;
  SeenFiles seen(disk);
  for (const std::string& name : names) {
    STRATA_ASSIGN(const std::vector<std::string> paths, FilesOf(disk, name));
    for (const std::string& path : paths) {
      STRATA_TRY(seen.Add(path));
      all.push_back(path);
    }
  }
  return all;
}

std::string FilesText(std::span<const std::string> paths) {
  if (paths.empty()) return "no file";
  if (paths.size() == 1) return paths[0];
  return fmt::format("{} and {}", paths[0], Counted(paths.size() - 1, "more file"));
}

}  // namespace strata
