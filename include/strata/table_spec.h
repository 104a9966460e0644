// TableSpec: everything that defines a table. Two tables with equal specs hold equal rows for equal
// histories, wherever they run.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "strata/element_type.h"
#include "strata/initializer_spec.h"
#include "strata/optimizer_spec.h"
#include "strata/status.h"

namespace strata {

// A table's id is a hash of its name, so that no server has to hand out numbers. Its lower half,
// the id in messages, is never 0.
enum class TableId : uint64_t {};
TableId TableIdOf(std::string_view name);

// What must be true before an update, assign or erase is acknowledged. Numbers are on the wire.
enum class AckLevel : uint8_t {
  kApplied = 0,     // in the memory of its server: lost with the process
  kLogged = 1,      // in the log: survives kill -9 of the process
  kSynced = 2,      // on stable storage: survives loss of power
  kReplicated = 3,  // on another node too; no store offers it yet
  kDefault = 255,   // of an operation: its table's level; of a table: its store's, which is
                    // kLogged where the store has a log, and kApplied elsewhere
};
std::string_view AckLevelName(AckLevel level);  // "applied", "logged", ..., "default"

struct TableSpec {
  std::string name = {};  // 1 to 128 characters of [A-Za-z0-9_.-]
  uint32_t dim = 1;
  OptimizerSpec optimizer = {};
  InitializerSpec initializer = {};
  uint64_t seed = 0;
  AckLevel ack = AckLevel::kDefault;  // of operations that name none
  // What rows are stored as. Arithmetic, and all that enters or leaves the table, is fp32: values
  // that come in are rounded to the nearest, results of updates stochastically.
  ElementType value_type = ElementType::kFp32;
  ElementType state_type = ElementType::kFp32;  // of the optimizer's state

  TableId id() const { return TableIdOf(name); }
  friend bool operator==(const TableSpec&, const TableSpec&) = default;
};

// kInvalid with the name of the field, the bound and what was found.
Status ValidateTableSpec(const TableSpec& spec);

// Names, as job files and command lines have them. Parse is kInvalid and lists the names that there
// are.
std::string_view OptimizerKindName(OptimizerKind kind);  // "sgd", "rowwise_adagrad", ...
Result<OptimizerKind> ParseOptimizerKind(std::string_view name);
std::string_view InitializerKindName(InitializerKind kind);  // "zero", "uniform", "normal"
Result<InitializerKind> ParseInitializerKind(std::string_view name);
Result<AckLevel> ParseAckLevel(std::string_view name);
std::string_view ElementTypeName(ElementType type);  // "fp32", "bf16", "fp16"
Result<ElementType> ParseElementType(std::string_view name);

}  // namespace strata
