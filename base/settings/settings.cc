#include "base/settings/settings.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/settings/settings_impl.h"

namespace strata {
namespace {

SettingValue DefaultOf(const Setting& row) {
  if (IsOptional(row)) return {};
  std::string_view text = row.default_value;
  // "As it would be written in the file": a text may stand in quotes.
  const bool textual = row.type == SettingType::kText || row.type == SettingType::kChoice;
  if (textual && text.size() >= 2 && text.front() == '"' && text.back() == '"') {
    text = text.substr(1, text.size() - 2);
  }
  Result<SettingValue> value = ParseSettingValue(row, text);
  STRATA_CHECK_MSG(value.ok(), fmt::format("default of {} {}", row.key, value.status().message()));
  return std::move(value).value();
}

}  // namespace

Settings::Impl::Impl(const SettingsTable& t) : table(t) {
  entries.reserve(table.settings.size());
  for (const Setting& row : table.settings) entries.push_back({DefaultOf(row), ""});
  for (const RepeatedSection& section : table.repeated) {
    repeated.emplace(section.name, std::vector<Settings>());
  }
}

const Setting* Settings::Impl::Row(std::string_view key) const {
  for (const Setting& row : table.settings) {
    if (row.key == key) return &row;
  }
  return nullptr;
}

std::string_view Settings::Impl::WhyRefused(std::string_view key) const {
  for (const RefusedKey& refused : table.refused) {
    if (refused.key == key) return refused.why;
  }
  return {};
}

bool Settings::Impl::IsOpen(std::string_view key) const {
  const std::string_view section = table.open_section;
  return !section.empty() && key.size() > section.size() + 1 && key.starts_with(section) &&
         key[section.size()] == '.';
}

void Settings::Impl::SetOpen(std::string_view key, std::string json, std::string origin) {
  const std::string name(key.substr(table.open_section.size() + 1));
  const auto before = std::ranges::find(open, name, &OpenValue::key);
  OpenValue& value = before == open.end() ? open.emplace_back() : *before;
  value = {name, std::move(json), std::move(origin)};
}

Settings::Impl::Entry& Settings::Impl::Find(std::string_view key,
                                            std::initializer_list<SettingType> types) {
  const Setting* row = Row(key);
  STRATA_CHECK_MSG(row != nullptr, fmt::format("{} has no setting '{}'", table.title, key));
  const bool typed = types.size() == 0 || std::ranges::count(types, row->type) != 0;
  STRATA_CHECK_MSG(typed, fmt::format("'{}' asked for by another type", key));
  return EntryOf(*row);
}

bool IsOptional(const Setting& row) {
  const SettingType type = row.type;
  const bool has_empty = type == SettingType::kText || type == SettingType::kTextList ||
                         type == SettingType::kTextOrList || type == SettingType::kIntList;
  return row.default_value.empty() && !has_empty;
}

Settings::Settings(const SettingsTable& table) : impl_(std::make_unique<Impl>(table)) {}
Settings::Settings(const Settings& other) : impl_(std::make_unique<Impl>(*other.impl_)) {}
Settings& Settings::operator=(const Settings& other) {
  if (this != &other) impl_ = std::make_unique<Impl>(*other.impl_);
  return *this;
}
Settings::Settings(Settings&&) noexcept = default;
Settings& Settings::operator=(Settings&&) noexcept = default;
Settings::~Settings() = default;

Status Settings::Set(std::string_view key, std::string_view value, const std::string& origin) {
  const Setting* row = impl_->Row(key);
  if (row == nullptr && impl_->IsOpen(key)) {
    impl_->SetOpen(key, JsonOfText(value), origin);
    return Status::Ok();
  }
  if (row == nullptr) {
    if (const std::string_view why = impl_->WhyRefused(key); !why.empty()) {
      return Invalid(fmt::format("{}: {} {}", origin, key, why));
    }
    std::vector<std::string_view> keys;
    for (const Setting& known : impl_->table.settings) keys.push_back(known.key);
    return Invalid(fmt::format("{}: unknown key '{}'{}", origin, key, SuggestName(key, keys)));
  }
  Result<SettingValue> parsed = ParseSettingValue(*row, value);
  if (!parsed.ok()) {
    return Invalid(fmt::format("{}: {} {}", origin, key, parsed.status().message()));
  }
  impl_->EntryOf(*row) = {std::move(parsed).value(), origin};
  return Status::Ok();
}

bool Settings::Bool(std::string_view key) const {
  return std::get<bool>(impl_->Find(key, {SettingType::kBool}).value);
}
int64_t Settings::Int(std::string_view key) const {
  return std::get<int64_t>(impl_->Find(key, {SettingType::kInt}).value);
}
double Settings::Float(std::string_view key) const {
  return std::get<double>(impl_->Find(key, {SettingType::kFloat}).value);
}
const std::string& Settings::Text(std::string_view key) const {
  return std::get<std::string>(impl_->Find(key, {SettingType::kText, SettingType::kChoice}).value);
}
uint64_t Settings::Bytes(std::string_view key) const {
  return std::get<uint64_t>(impl_->Find(key, {SettingType::kBytes}).value);
}
TimeNs Settings::Duration(std::string_view key) const {
  return std::get<int64_t>(impl_->Find(key, {SettingType::kDuration}).value);
}
const std::vector<std::string>& Settings::TextList(std::string_view key) const {
  return std::get<std::vector<std::string>>(
      impl_->Find(key, {SettingType::kTextList, SettingType::kTextOrList}).value);
}
const std::vector<int64_t>& Settings::IntList(std::string_view key) const {
  return std::get<std::vector<int64_t>>(impl_->Find(key, {SettingType::kIntList}).value);
}

bool Settings::IsSet(std::string_view key) const { return !impl_->Find(key, {}).origin.empty(); }

std::string Settings::Origin(std::string_view key) const {
  const std::string& origin = impl_->Find(key, {}).origin;
  return origin.empty() ? "default" : origin;
}

const std::vector<Settings>& Settings::Repeated(std::string_view section) const {
  const auto it = impl_->repeated.find(section);
  STRATA_CHECK_MSG(it != impl_->repeated.end(),
                   fmt::format("{} has no section [[{}]]", impl_->table.title, section));
  return it->second;
}

const std::vector<OpenValue>& Settings::Open() const { return impl_->open; }

const std::string& Settings::Where() const { return impl_->where; }

}  // namespace strata
