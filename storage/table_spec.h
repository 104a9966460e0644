// TableSpec: everything that defines a table. Two tables with equal specs hold equal rows for equal
// histories, wherever they run.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/hash.h"
#include "base/status.h"
#include "storage/row_schema.h"

namespace strata {

// A table's id is a hash of its name, so that no server has to hand out numbers. Never 0.
enum class TableId : uint32_t {};
inline TableId TableIdOf(std::string_view name) {
  const auto id = static_cast<uint32_t>(Hash64(name, 0x7461626c65ULL));
  return TableId{id == 0 ? 1U : id};
}

// The numbers travel on the wire and to disk: never change or reuse one.
enum class OptimizerKind : uint8_t { kSgd = 1, kAdaGrad = 2, kAdam = 3 };
enum class InitializerKind : uint8_t { kZero = 1, kUniform = 2, kNormal = 3 };

// Formulas: kernels/optim/rules.h.
struct OptimizerSpec {
  OptimizerKind kind = OptimizerKind::kSgd;
  float learning_rate = 0.01F;
  float epsilon = 1e-7F;              // AdaGrad, Adam
  float beta1 = 0.9F;                 // Adam
  float beta2 = 0.999F;               // Adam
  float initial_accumulator = 0.0F;   // AdaGrad

  friend bool operator==(const OptimizerSpec&, const OptimizerSpec&) = default;
};

// A new row's value: zero, uniform in [-scale, scale), or normal with mean 0 and deviation `scale`.
// A pure function of (table seed, key, element).
struct InitializerSpec {
  InitializerKind kind = InitializerKind::kZero;
  float scale = 0.01F;

  friend bool operator==(const InitializerSpec&, const InitializerSpec&) = default;
};

struct TableSpec {
  std::string name;  // 1 to 128 characters of [A-Za-z0-9_.-]
  uint32_t dim = 1;
  OptimizerSpec optimizer;
  InitializerSpec initializer;
  uint64_t seed = 0;

  TableId id() const { return TableIdOf(name); }
  friend bool operator==(const TableSpec&, const TableSpec&) = default;
};

// kInvalid with the name of the field, the bound and what was found.
Status ValidateTableSpec(const TableSpec& spec);
RowSchema SchemaOf(const TableSpec& spec);

std::string_view OptimizerKindName(OptimizerKind kind);      // "sgd", "adagrad", "adam"
std::string_view InitializerKindName(InitializerKind kind);  // "zero", "uniform", "normal"
Result<OptimizerKind> ParseOptimizerKind(std::string_view name);
Result<InitializerKind> ParseInitializerKind(std::string_view name);

}  // namespace strata
