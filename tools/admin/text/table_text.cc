#include "tools/admin/text/table_text.h"

#include <algorithm>
#include <utility>

#include "strata/status.h"

namespace strata::admin {
namespace {

// Columns that UTF-8 text takes on a terminal, every code point counted as one.
size_t Width(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;  // no continuation byte
  }));
}

void AppendLine(const std::vector<std::string>& cells, const std::vector<size_t>& widths,
                const std::vector<TableText::Column>& columns, std::string* out) {
  std::string line;
  for (size_t i = 0; i < cells.size(); ++i) {
    const std::string blanks(widths[i] - Width(cells[i]), ' ');
    if (i > 0) line += "  ";
    line += columns[i].align == TableText::Align::kRight ? blanks + cells[i] : cells[i] + blanks;
  }
  line.erase(line.find_last_not_of(' ') + 1);
  *out += line;
  *out += '\n';
}

}  // namespace

std::string Printable(std::string_view text) {
  std::string printable(text);
  for (char& c : printable) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F) c = '?';
  }
  return printable;
}

TableText::TableText(std::vector<Column> columns) : columns_(std::move(columns)) {}

void TableText::AddRow(std::vector<std::string> cells) {
  STRATA_CHECK(cells.size() == columns_.size());
  for (std::string& cell : cells) cell = Printable(cell);
  rows_.push_back(std::move(cells));
}

std::string TableText::ToString() const {
  std::vector<std::string> titles;
  std::vector<size_t> widths;
  for (size_t i = 0; i < columns_.size(); ++i) {
    titles.push_back(columns_[i].title);
    widths.push_back(Width(columns_[i].title));
    for (const auto& row : rows_) widths[i] = std::max(widths[i], Width(row[i]));
  }
  std::string text;
  AppendLine(titles, widths, columns_, &text);
  for (const auto& row : rows_) AppendLine(row, widths, columns_, &text);
  return text;
}

}  // namespace strata::admin
