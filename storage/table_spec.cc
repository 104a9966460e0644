#include "storage/table_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/hash.h"
#include "kernels/optim/apply.h"
#include "storage/optimizer_fields.h"

namespace strata {
namespace {

constexpr size_t kNameMax = 128;

struct InitializerName {
  InitializerKind kind;
  std::string_view name;
};
constexpr std::array<InitializerName, 3> kInitializers = {{{InitializerKind::kZero, "zero"},
                                                           {InitializerKind::kUniform, "uniform"},
                                                           {InitializerKind::kNormal, "normal"}}};

struct ElementTypeEntry {
  ElementType kind;
  std::string_view name;
};
constexpr std::array<ElementTypeEntry, 3> kElementTypes = {
    {{ElementType::kFp32, "fp32"}, {ElementType::kBf16, "bf16"}, {ElementType::kFp16, "fp16"}}};

template <typename Table, typename Kind>
std::string_view NameIn(const Table& table, Kind kind) {
  for (const auto& entry : table) {
    if (entry.kind == kind) return entry.name;
  }
  return "unknown";
}

bool IsNameCharacter(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '-';
}

}  // namespace

TableId TableIdOf(std::string_view name) {
  const uint64_t hash = Hash64(name, 0x7461626c65ULL);
  return TableId{static_cast<uint32_t>(hash) == 0 ? hash | 1U : hash};
}

Status ValidateName(std::string_view what, const std::string& name) {
  if (name.empty() || name.size() > kNameMax) {
    return Invalid(
        fmt::format("{}: expected 1 to {} characters, found {}", what, kNameMax, name.size()));
  }
  const auto bad = std::find_if_not(name.begin(), name.end(), IsNameCharacter);
  if (bad != name.end()) {
    // Not echoed: the name may hold anything, line ends too.
    return Invalid(fmt::format("{}: byte 0x{:02x} at position {}; expected only A-Z a-z 0-9 _ . -",
                               what, static_cast<unsigned char>(*bad), bad - name.begin()));
  }
  return {};
}

Status ValidateTableSpec(const TableSpec& spec) {
  STRATA_TRY(ValidateName("table name", spec.name));
  const std::string where = fmt::format("table '{}'", spec.name);
  if (spec.dim < 1 || spec.dim > RowSchema::kDimMax) {
    return Invalid(
        fmt::format("{}: dim: expected 1 to {}, found {}", where, RowSchema::kDimMax, spec.dim));
  }
  STRATA_TRY(ValidateOptimizer(spec.optimizer, "optimizer").Prefixed(where));
  if (spec.ack > AckLevel::kReplicated && spec.ack != AckLevel::kDefault) {
    return Invalid(
        fmt::format("{}: ack level {} does not exist", where, static_cast<int>(spec.ack)));
  }
  if (NameIn(kInitializers, spec.initializer.kind) == "unknown") {
    return Invalid(
        fmt::format("{}: initializer.kind: expected 1 (zero), 2 (uniform) or 3 (normal), found {}",
                    where, static_cast<int>(spec.initializer.kind)));
  }
  for (const auto& [field, type] :
       {std::pair{"value_type", spec.value_type}, std::pair{"state_type", spec.state_type}}) {
    if (NameIn(kElementTypes, type) != "unknown") continue;
    return Invalid(fmt::format("{}: {}: expected 1 (fp32), 2 (bf16) or 3 (fp16), found {}", where,
                               field, static_cast<int>(type)));
  }
  constexpr float kScaleMax = 1e30F;
  const float scale = spec.initializer.scale;
  if (!(scale >= 0 && scale < kScaleMax)) {  // a NaN neither
    return Invalid(
        fmt::format("{}: initializer.scale: expected a number of at least 0 and below {}, found {}",
                    where, kScaleMax, scale));
  }
  return {};
}

std::string_view AckLevelName(AckLevel level) {
  switch (level) {
    case AckLevel::kApplied:
      return "applied";
    case AckLevel::kLogged:
      return "logged";
    case AckLevel::kSynced:
      return "synced";
    case AckLevel::kReplicated:
      return "replicated";
    case AckLevel::kDefault:
      return "default";
  }
  return "unknown";
}

RowSchema SchemaOf(const TableSpec& spec) {
  return {spec.dim, static_cast<uint32_t>(StateWidth(spec.optimizer, spec.dim)), spec.value_type,
          StateTypesOf(spec.optimizer.kind, spec.state_type)};
}

std::string DifferenceOf(const TableSpec& ours, const TableSpec& theirs) {
  std::string text;
  const auto compare = [&text](std::string_view field, auto a, auto b) {
    if (a == b) return;
    text += fmt::format("{}{} {} here, {} asked for", text.empty() ? "" : "; ", field, a, b);
  };
  compare("name", ours.name, theirs.name);
  compare("dim", ours.dim, theirs.dim);
  compare("optimizer", OptimizerKindName(ours.optimizer.kind),
          OptimizerKindName(theirs.optimizer.kind));
  for (const OptimizerField& field : OptimizerFields()) {
    compare(field.name, field.TextIn(ours.optimizer), field.TextIn(theirs.optimizer));
  }
  compare("initializer", InitializerKindName(ours.initializer.kind),
          InitializerKindName(theirs.initializer.kind));
  compare("scale", ours.initializer.scale, theirs.initializer.scale);
  compare("seed", ours.seed, theirs.seed);
  compare("ack", AckLevelName(ours.ack), AckLevelName(theirs.ack));
  compare("value_type", ElementTypeName(ours.value_type), ElementTypeName(theirs.value_type));
  compare("state_type", ElementTypeName(ours.state_type), ElementTypeName(theirs.state_type));
  return text;
}

std::string_view InitializerKindName(InitializerKind kind) { return NameIn(kInitializers, kind); }

std::string_view ElementTypeName(ElementType type) { return NameIn(kElementTypes, type); }

Result<ElementType> ParseElementType(std::string_view name) {
  for (const auto& entry : kElementTypes) {
    if (entry.name == name) return entry.kind;
  }
  return Invalid(fmt::format("element type '{}': expected fp32, bf16 or fp16", name));
}

Result<AckLevel> ParseAckLevel(std::string_view name) {
  for (const AckLevel level :
       {AckLevel::kDefault, AckLevel::kApplied, AckLevel::kLogged, AckLevel::kSynced}) {
    if (AckLevelName(level) == name) return level;
  }
  if (name == AckLevelName(AckLevel::kReplicated)) {
    return Refused("ack level 'replicated' is not offered yet; use 'synced'");
  }
  return Invalid(fmt::format("ack level '{}': expected default, applied, logged or synced", name));
}

Result<InitializerKind> ParseInitializerKind(std::string_view name) {
  for (const auto& entry : kInitializers) {
    if (entry.name == name) return entry.kind;
  }
  return Invalid(fmt::format("initializer '{}': expected zero, uniform or normal", name));
}

}  // namespace strata
