#include "worker/data/sparse/sparse_row.h"

#include <cmath>
#include <utility>

#include "base/file/text_file.h"
#include "worker/data/feature/label.h"
#include "worker/data/file/file_look.h"

namespace strata {

SparseRowParser::SparseRowParser(DataSpec spec, bool labels_required)
    : spec_(std::move(spec)), labels_required_(labels_required) {}

std::string SparseRowParser::Parse(std::string_view line, SparseRow* row) {
  row->text = line;
  row->values = {};
  std::string reason = Read(line, &row->label);
  if (reason.empty()) {
    row->values = parts_.values;
  } else {
    row->label = std::nanf("");
  }
  return reason;
}

std::string SparseRowParser::Read(std::string_view line, float* label) {
  *label = std::nanf("");
  if (line.starts_with(kByteOrderMark)) return HiddenLook(line);
  std::string reason = SplitSparseLine(line, format(), &parts_);
  if (reason.empty() && labels_required_) reason = ReadLabel(spec_, parts_.label, label);
  return reason;
}

}  // namespace strata
