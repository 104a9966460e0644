#include "worker/data/sparse/sparse_files.h"

#include <fmt/format.h>

#include <utility>

#include "worker/data/file/file_look.h"
#include "worker/data/sparse/sparse_line.h"

namespace strata {
namespace {

// What a first line of another format looks like, and the step that helps; "": unknown.
std::string AdviceFor(const std::string& line, SparseFormat format) {
  if (const std::string look = HiddenLook(line); !look.empty()) {
    return fmt::format("In the first line, {}.", look);
  }
  const bool as_libffm = LooksLikeLibffm(line);
  const bool as_libsvm = LooksLikeLibsvm(line);
  if (format == SparseFormat::kLibffm ? as_libffm : as_libsvm) return "";
  if (as_libffm || as_libsvm) {
    return fmt::format("The first line looks like {0}: set data.format = \"{0}\".",
                       as_libffm ? "libffm" : "libsvm");
  }
  const std::string look = ForeignTextLook(line);
  return look.empty() ? "" : fmt::format("The first line looks like {}.", look);
}

}  // namespace

Result<SparseFiles> OpenSparseFiles(Disk& disk, const std::vector<std::string>& paths,
                                    const DataSpec& spec, const TextOptions& options) {
  STRATA_CHECK(spec.sparse.has_value() && !paths.empty());
  SparseFiles files;
  for (const std::string& path : paths) {
    STRATA_ASSIGN(OpenedText text, OpenText(disk, path, options.check));
    STRATA_ASSIGN(const FirstLine first, ReadFirstLine(text, [&](std::string_view line) {
                    return IsSkippedSparseLine(line, *spec.sparse);
                  }));
    const std::string of_file = AdviceFor(first.text, *spec.sparse);
    if (files.advice.empty() && !of_file.empty()) {
      files.advice = files.texts.empty() ? of_file : fmt::format("{}: {}", path, of_file);
    }
    if (paths.size() > 1) text.file.reset();
    files.texts.push_back(std::move(text));
  }
  return files;
}

}  // namespace strata
