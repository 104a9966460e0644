// Settings from TOML, by toml++, which only this file sees.
#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <utility>

#include "base/settings/settings.h"
#include "base/settings/settings_impl.h"

namespace strata {
namespace {

constexpr size_t kErrorsShownMax = 10;

// What was wrong with one file, to be reported together.
struct FileErrors {
  struct Error {
    std::pair<uint32_t, uint32_t> place;  // line and column
    std::string text;
  };

  void Add(const toml::source_region& where, std::string text) {
    errors.push_back({{where.begin.line, where.begin.column}, std::move(text)});
  }

  // Ok, or all errors in the file's order, "file:line:column: what", one a line.
  Status ToStatus(const std::string& file) {
    if (errors.empty()) return Status::Ok();
    std::ranges::stable_sort(errors, {}, &Error::place);
    std::string text;
    for (size_t i = 0; i < std::min(errors.size(), kErrorsShownMax); ++i) {
      const auto& [line, column] = errors[i].place;
      text += fmt::format("{}{}:{}:{}: {}", i == 0 ? "" : "\n", file, line, column, errors[i].text);
    }
    if (errors.size() > kErrorsShownMax) {
      text += fmt::format("\n{}: {} more errors", file, errors.size() - kErrorsShownMax);
    }
    return Invalid(std::move(text));
  }

  std::vector<Error> errors;
};

std::string DescribeFound(const toml::node& node) {
  if (const auto* text = node.as_string()) return fmt::format("the text '{}'", text->get());
  if (const auto* integer = node.as_integer()) return fmt::format("{}", integer->get());
  if (const auto* number = node.as_floating_point()) return fmt::format("{}", number->get());
  if (const auto* boolean = node.as_boolean()) return boolean->get() ? "true" : "false";
  if (node.is_array()) return "a list";
  if (node.is_table()) return "a section";
  return "a date or time";
}

// The elements of an array of one type; false when one is of another.
template <typename Node, typename T>
bool ReadList(const toml::node& node, std::vector<T>* out) {
  const toml::array* array = node.as_array();
  if (array == nullptr) return false;
  for (const toml::node& element : *array) {
    const auto* value = element.as<Node>();
    if (value == nullptr) return false;
    out->push_back(value->get());
  }
  return true;
}

// The list that a single text stands for: an empty one for an empty text.
SettingValue ListOfText(const std::string& text) {
  std::vector<std::string> list;
  if (!text.empty()) list.push_back(text);
  return list;
}

Result<SettingValue> ReadNode(const Setting& row, const toml::node& node) {
  const std::string found = DescribeFound(node);
  SettingValue value;
  std::vector<std::string> texts;
  std::vector<int64_t> numbers;
  const auto* text = node.as_string();
  const auto* integer = node.as_integer();
  switch (row.type) {
    case SettingType::kBool:
      if (!node.is_boolean()) return SettingMismatch(row, found);
      value = node.as_boolean()->get();
      break;
    case SettingType::kInt:
      if (integer == nullptr) return SettingMismatch(row, found);
      value = integer->get();
      break;
    case SettingType::kFloat:
      if (!node.is_number()) return SettingMismatch(row, found);
      value = integer ? static_cast<double>(integer->get()) : node.as_floating_point()->get();
      break;
    case SettingType::kText:
    case SettingType::kChoice:
      if (text == nullptr) return SettingMismatch(row, found);
      value = text->get();
      break;
    case SettingType::kBytes:
    case SettingType::kDuration:
      if (text != nullptr) return ParseSettingValue(row, text->get());
      if (integer == nullptr) return SettingMismatch(row, found);
      return ParseSettingValue(row, fmt::format("{}", integer->get()));
    case SettingType::kTextList:
      if (!ReadList<std::string>(node, &texts)) return SettingMismatch(row, found);
      value = std::move(texts);
      break;
    case SettingType::kTextOrList:
      if (text != nullptr) return ListOfText(text->get());
      if (!ReadList<std::string>(node, &texts)) return SettingMismatch(row, found);
      value = std::move(texts);
      break;
    case SettingType::kIntList:
      if (!ReadList<int64_t>(node, &numbers)) return SettingMismatch(row, found);
      value = std::move(numbers);
      break;
  }
  STRATA_TRY(CheckSettingValue(row, value, found));
  return value;
}

std::string JsonOf(const toml::node& node) {
  std::ostringstream text;
  text << toml::json_formatter(node);
  return text.str();
}

}  // namespace

std::string JsonOfText(std::string_view text) { return JsonOf(toml::value(std::string(text))); }

// Walks one parsed table. `base` is the name of the repeated section that it is an element of, for
// messages; `prefix` grows with the sections walked into.
struct Settings::Impl::TomlLoader {
  const std::string& file;
  FileErrors& errors;

  std::string Place(const toml::source_region& where) const {
    return fmt::format("{}:{}:{}", file, where.begin.line, where.begin.column);
  }

  void LoadSection(const toml::table& section, const std::string& prefix, std::string_view base,
                   Impl& target) {
    for (const auto& [key, node] : section) {
      const std::string name = prefix + std::string(key.str());
      const Setting* row = target.Row(name);
      if (row != nullptr && row->in_file) {
        LoadValue(*row, key, node, base, target);
      } else if (target.IsOpen(name)) {
        target.SetOpen(name, JsonOf(node), Place(key.source()));
      } else if (target.repeated.contains(name)) {
        LoadRepeated(name, key, node, target);
      } else if (!HasSection(target, name)) {
        errors.Add(key.source(),
                   UnknownName(name, node.is_table() ? "section" : "key", base, target));
      } else if (const toml::table* table = node.as_table()) {
        LoadSection(*table, name + ".", base, target);
      } else {
        errors.Add(key.source(), fmt::format("'{}{}' is a section: write [{}]; found {}", base,
                                             name, name, DescribeFound(node)));
      }
    }
  }

  void LoadValue(const Setting& row, const toml::key& key, const toml::node& node,
                 std::string_view base, Impl& target) {
    Result<SettingValue> value = ReadNode(row, node);
    if (value.ok()) {
      target.EntryOf(row) = {std::move(value).value(), Place(key.source())};
    } else {
      errors.Add(key.source(), fmt::format("{}{} {}", base, row.key, value.status().message()));
    }
  }

  void LoadRepeated(const std::string& name, const toml::key& key, const toml::node& node,
                    Impl& target) {
    const toml::array* array = node.as_array();
    if (array == nullptr || !std::ranges::all_of(*array, &toml::node::is_table)) {
      errors.Add(key.source(), fmt::format("'{}' is a repeated section: write [[{}]]; found {}",
                                           name, name, DescribeFound(node)));
      return;
    }
    const auto section =
        std::ranges::find(target.table.repeated, std::string_view(name), &RepeatedSection::name);
    std::vector<Settings>& elements = target.repeated[name];
    elements.clear();  // a file's list replaces the one before, as its values do
    for (const toml::node& element : *array) {
      Settings settings(SettingsTable{target.table.title, section->settings, {}, section->refused});
      settings.impl_->where = Place(element.source());
      LoadSection(*element.as_table(), "", name + ".", *settings.impl_);
      elements.push_back(std::move(settings));
    }
  }

  // True when some key lies below `name`.
  static bool HasSection(const Impl& target, const std::string& name) {
    return std::ranges::any_of(target.table.settings, [&](const Setting& row) {
      return row.in_file && row.key.starts_with(name + ".");
    });
  }

  // "server, feature": those that may stand at this place of the file.
  static std::string SectionNames(const Impl& target, std::string_view base) {
    std::set<std::string> names;
    for (const Setting& row : target.table.settings) {
      if (!row.in_file || !row.key.starts_with(base)) continue;
      const std::string_view rest = row.key.substr(base.size());
      if (const size_t dot = rest.find('.'); dot != rest.npos) names.emplace(rest.substr(0, dot));
    }
    for (const RepeatedSection& section : target.table.repeated) names.emplace(section.name);
    return fmt::format("{}", fmt::join(names, ", "));
  }

  static std::string UnknownName(const std::string& name, std::string_view what,
                                 std::string_view base, const Impl& target) {
    if (const std::string_view why = target.WhyRefused(name); !why.empty()) {
      return fmt::format("{} {}", name, why);
    }
    std::vector<std::string> names;
    for (const Setting& row : target.table.settings) {
      if (!row.in_file) continue;
      names.push_back(std::string(base) + std::string(row.key));
      if (what != "section") continue;
      for (size_t dot = row.key.find('.'); dot != row.key.npos; dot = row.key.find('.', dot + 1)) {
        names.push_back(std::string(base) + std::string(row.key.substr(0, dot)));
      }
    }
    for (const RepeatedSection& section : target.table.repeated) names.emplace_back(section.name);
    const std::string full = std::string(base) + name;
    const std::vector<std::string_view> candidates(names.begin(), names.end());
    std::string hint = SuggestName(full, candidates);
    if (hint.empty() && what == "section")
      hint = "; the sections are " + SectionNames(target, base);
    return fmt::format("unknown {} '{}'{}", what, full, hint);
  }
};

Status Settings::LoadToml(std::string_view text, const std::string& file, bool keep_good) {
  FileErrors errors;
  // Into a copy, so that a file with errors changes nothing unless it is asked to.
  Settings loaded = *this;
  try {
    const toml::table root = toml::parse(text, std::string_view(file));
    loaded.impl_->where = file;
    Impl::TomlLoader{file, errors}.LoadSection(root, "", "", *loaded.impl_);
  } catch (const toml::parse_error& error) {
    errors.Add(error.source(), std::string(error.description()));
  }
  const Status status = errors.ToStatus(file);
  if (status.ok() || keep_good) *this = std::move(loaded);
  return status;
}

}  // namespace strata
