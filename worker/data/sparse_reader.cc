#include "worker/data/sparse_reader.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "base/file/text_file.h"
#include "base/human_text.h"
#include "worker/data/file_look.h"
#include "worker/data/label.h"

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

Result<std::unique_ptr<SparseReader>> SparseReader::Open(Disk& disk,
                                                         const std::vector<std::string>& paths,
                                                         const DataSpec& spec,
                                                         const TextOptions& options) {
  STRATA_CHECK(spec.sparse.has_value() && !paths.empty());
  std::string advice;
  std::vector<OpenedText> texts;
  for (const std::string& path : paths) {
    STRATA_ASSIGN(OpenedText text, OpenText(disk, path, options.check));
    STRATA_ASSIGN(const FirstLine first, ReadFirstLine(text, [&](std::string_view line) {
                    return IsSkippedSparseLine(line, *spec.sparse);
                  }));
    const std::string of_file = AdviceFor(first.text, *spec.sparse);
    if (advice.empty() && !of_file.empty()) {
      advice = texts.empty() ? of_file : fmt::format("{}: {}", path, of_file);
    }
    if (paths.size() > 1) text.file.reset();
    texts.push_back(std::move(text));
  }
  std::unique_ptr<SparseReader> reader(new SparseReader(disk, std::move(texts), spec, options));
  reader->lines_.SetAdvice(advice);
  return reader;
}

SparseReader::SparseReader(Disk& disk, std::vector<OpenedText> texts, const DataSpec& spec,
                           const TextOptions& options)
    : spec_(spec),
      options_(options),
      lines_(disk, std::move(texts), spec.format.bad_share_max, options) {}

Result<bool> SparseReader::Next(SparseRow* row) {
  while (true) {
    STRATA_ASSIGN(const bool read, lines_.Next(&line_));
    if (!read) return false;
    if (IsSkippedSparseLine(line_.text, format())) continue;
    *row = {.offset = lines_.IdOf(line_), .text = line_.text, .values = {}};
    const std::string reason = ReadRow(row);
    if (reason.empty()) return true;
    STRATA_ASSIGN(bad_reason_, lines_.AddBad(line_, reason));
    if (!options_.keep_bad_rows) continue;
    row->bad = bad_reason_;
    row->label = std::nanf("");
    return true;
  }
}

std::string SparseReader::ReadRow(SparseRow* row) {
  if (line_.text.starts_with(kByteOrderMark)) return HiddenLook(line_.text);
  std::string reason = SplitSparseLine(line_.text, format(), &parts_);
  if (!reason.empty()) return reason;
  row->label = std::nanf("");
  if (options_.labels_required) reason = ReadLabel(spec_, parts_.label, &row->label);
  if (reason.empty()) row->values = parts_.values;
  return reason;
}

}  // namespace strata
