// Internal to base/settings*.cc: what a Settings object holds.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/settings/settings_value.h"

namespace strata {

struct Settings::Impl {
  struct Entry {
    SettingValue value;
    std::string origin;  // "" while it is the default
  };

  explicit Impl(const SettingsTable& t);
  Entry& Find(std::string_view key, std::initializer_list<SettingType> types);

  // The row of a key, or nullptr.
  const Setting* Row(std::string_view key) const;
  // What to say of a key that is refused by name; "": it is not.
  std::string_view WhyRefused(std::string_view key) const;
  Entry& EntryOf(const Setting& row) {
    return entries[static_cast<size_t>(&row - &table.settings[0])];
  }

  // Whether a key without a row is one of the open section.
  bool IsOpen(std::string_view key) const;
  // Keeps a value of the open section over what there was of its key, which has the section.
  void SetOpen(std::string_view key, std::string json, std::string origin);

  // Reads a parsed file; defined in settings_toml.cc.
  struct TomlLoader;

  SettingsTable table;         // spans only: the rows themselves belong to the caller
  std::vector<Entry> entries;  // one per row, in the table's order
  std::map<std::string, std::vector<Settings>, std::less<>> repeated;  // an entry for each section
  std::vector<OpenValue> open;
  std::string where;
};

// A text as JSON; defined in settings_toml.cc.
std::string JsonOfText(std::string_view text);

}  // namespace strata
