// TableText: rows of text lined up in columns, for people.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace strata::admin {

class TableText {
 public:
  enum class Align : bool { kLeft, kRight };
  struct Column {
    std::string title;
    Align align = Align::kLeft;
  };

  explicit TableText(std::vector<Column> columns);

  // One cell for each column. Cells may come from a peer: control characters become '?', so that no
  // node can steer the terminal.
  void AddRow(std::vector<std::string> cells);

  // Titles, then the rows in the order they came; two blanks between columns, none at a line's end.
  std::string ToString() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// The text with control characters replaced by '?'.
std::string Printable(std::string_view text);

}  // namespace strata::admin
