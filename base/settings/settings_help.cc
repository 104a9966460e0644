// What people read about settings: --help and the tables of docs/configuration.md.
#include <fmt/format.h>

#include <algorithm>

#include "base/settings/settings.h"
#include "base/settings/settings_value.h"

namespace strata {
namespace {

constexpr size_t kColumns = 100;
constexpr size_t kHelpColumn = 32;

// `text` in lines of at most kColumns, each behind `indent` blanks; the first line's blanks are
// there already.
std::string Wrap(std::string_view text, size_t indent) {
  std::string out;
  size_t column = indent;
  while (!text.empty()) {
    const size_t blank = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, blank);
    text.remove_prefix(std::min(blank + 1, text.size()));
    if (word.empty()) continue;
    if (column > indent && column + 1 + word.size() > kColumns) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
    }
    if (column > indent) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
  }
  return out + "\n";
}

std::string_view TypeName(SettingType type) {
  switch (type) {
    case SettingType::kBool:
      return "boolean";
    case SettingType::kInt:
      return "integer";
    case SettingType::kFloat:
      return "number";
    case SettingType::kText:
      return "text";
    case SettingType::kChoice:
      return "choice";
    case SettingType::kBytes:
      return "size";
    case SettingType::kDuration:
      return "duration";
    case SettingType::kTextList:
      return "list of texts";
    case SettingType::kTextOrList:
      return "text or list of texts";
    case SettingType::kIntList:
      return "list of integers";
  }
  return "";
}

std::string_view Placeholder(SettingType type) {
  switch (type) {
    case SettingType::kBool:
      return "";
    case SettingType::kInt:
      return "=N";
    case SettingType::kFloat:
      return "=X";
    case SettingType::kText:
      return "=TEXT";
    case SettingType::kChoice:
      return "=NAME";
    case SettingType::kBytes:
      return "=SIZE";
    case SettingType::kDuration:
      return "=TIME";
    case SettingType::kTextList:
    case SettingType::kTextOrList:
      return "=A,B,...";
    case SettingType::kIntList:
      return "=N,N,...";
  }
  return "";
}

std::string HelpEntry(std::string_view flag, std::string_view text) {
  std::string out = fmt::format("  {}", flag);
  if (out.size() + 2 > kHelpColumn) {
    out += "\n";
    out += std::string(kHelpColumn, ' ');
  } else {
    out.resize(kHelpColumn, ' ');
  }
  return out + Wrap(text, kHelpColumn);
}

std::string FlagHelp(const Setting& row, std::string_view title) {
  std::string text(row.help);
  const bool plain = row.type == SettingType::kBool || row.type == SettingType::kText;
  std::string facts = plain ? "" : DescribeExpected(row);
  if (!row.default_value.empty()) {
    facts += fmt::format("{}default {}", facts.empty() ? "" : "; ", row.default_value);
  }
  if (row.in_file) facts += fmt::format("{}{} in {}", facts.empty() ? "" : "; ", row.key, title);
  if (!facts.empty()) text += " (" + facts + ")";
  return HelpEntry(fmt::format("--{}{}", row.flag, Placeholder(row.type)), text);
}

std::string EscapeCell(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out;
}

std::string_view SectionOf(std::string_view key) {
  const size_t dot = key.rfind('.');
  return dot == std::string_view::npos ? std::string_view() : key.substr(0, dot);
}

std::string TypeCell(const Setting& row) {
  const std::string expected = DescribeExpected(row);
  const size_t bounds = std::min(expected.find(" from "), expected.find(" of at "));
  std::string cell(TypeName(row.type));
  if (row.type == SettingType::kChoice) return expected;
  if (bounds != std::string::npos) cell += expected.substr(bounds);
  return cell;
}

std::string MarkdownRow(const Setting& row) {
  const std::string value = row.default_value.empty() ? "" : fmt::format("`{}`", row.default_value);
  const std::string flag = row.flag.empty() ? "" : fmt::format("`--{}`", row.flag);
  return fmt::format("| `{}` | {} | {} | {} | {} |\n", row.key, EscapeCell(TypeCell(row)),
                     EscapeCell(value), flag, EscapeCell(row.help));
}

constexpr std::string_view kMarkdownHead =
    "| key | type | default | flag | meaning |\n"
    "| --- | --- | --- | --- | --- |\n";

// The rows with the wanted value of in_file, section by section in the order in which they appear.
std::string MarkdownSections(const SettingsTable& table) {
  std::vector<std::string_view> sections;
  for (const Setting& row : table.settings) {
    if (row.in_file && std::ranges::count(sections, SectionOf(row.key)) == 0) {
      sections.push_back(SectionOf(row.key));
    }
  }
  std::string out;
  for (std::string_view section : sections) {
    out += section.empty() ? "### Top level\n\n" : fmt::format("### [{}]\n\n", section);
    out += kMarkdownHead;
    for (const Setting& row : table.settings) {
      if (row.in_file && SectionOf(row.key) == section) out += MarkdownRow(row);
    }
    out += "\n";
  }
  return out;
}

}  // namespace

std::string HelpText(std::string_view usage, std::string_view summary, uint32_t program,
                     std::span<const SettingsTable* const> tables) {
  std::string out = fmt::format("Usage: {}\n\n{}\nFlags (- and _ are the same in their names):\n",
                                usage, Wrap(summary, 0));
  std::vector<std::string_view> shown;  // a flag may stand in several tables
  for (const SettingsTable* table : tables) {
    for (const Setting& row : table->settings) {
      if (row.flag.empty() || (row.programs & program) == 0) continue;
      if (std::ranges::count(shown, row.flag) != 0) continue;
      shown.push_back(row.flag);
      out += FlagHelp(row, table->title);
    }
  }
  out += HelpEntry("--help", "Shows this text.");
  out += HelpEntry("--version", "Shows the version.");
  return out;
}

std::string SettingsMarkdown(const SettingsTable& table) {
  std::string out = fmt::format("## {}\n\n", table.title) + MarkdownSections(table);
  for (const RepeatedSection& section : table.repeated) {
    out += fmt::format("### [[{}]]\n\n{}\n\n{}", section.name, section.help, kMarkdownHead);
    for (const Setting& row : section.settings) out += MarkdownRow(row);
    out += "\n";
  }
  const auto flag_only = [](const Setting& row) { return !row.in_file; };
  if (std::ranges::any_of(table.settings, flag_only)) {
    // A program's own table has nothing but flags.
    if (!std::ranges::all_of(table.settings, flag_only)) {
      out += fmt::format("### Flags only\n\nThese have no key in {}.\n\n", table.title);
    }
    out += "| flag | type | default | meaning |\n| --- | --- | --- | --- |\n";
    for (const Setting& row : table.settings) {
      if (!flag_only(row)) continue;
      out += fmt::format("| `--{}` | {} | {} | {} |\n", row.flag, EscapeCell(TypeCell(row)),
                         EscapeCell(row.default_value), EscapeCell(row.help));
    }
    out += "\n";
  }
  return out;
}

}  // namespace strata
