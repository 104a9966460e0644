// Status and Result: how every function of Strata reports failure. Nothing throws; third-party
// exceptions are caught at the call. A Status carries a code, a message that says what, where,
// expected and found, and what to do, and the place in our code where it was made.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>

namespace strata {

// The numbers travel on the wire (docs/protocol.md): never change or reuse one.
enum class StatusCode : uint16_t {
  kOk = 0,
  kFailed = 1,            // the work failed: I/O error, a job that cannot go on
  kInvalid = 2,           // the caller's input (flag, file, message) is wrong
  kLost = 3,              // a peer or a server is gone, or came back without its state
  kRefused = 4,           // policy or a limit says no; the same call may pass later or elsewhere
  kNotFound = 5,          // the named thing (table, file, ...) does not exist
  kExists = 6,            // the named thing exists already, with other properties
  kDeadlineExceeded = 7,  // no answer in time; the outcome of a write is then unknown
  kCorrupt = 8,           // bytes that were stored or received fail their check
  kCancelled = 9,         // the caller or a shutdown ended it
  kDiskFull = 10,         // no space left; nothing was changed, the same call may pass later
  kSessionExpired = 11,   // the server has forgotten the client: which writes it did is unknown
  kUnavailable = 12,      // not ready yet (a server that recovers); the same call will pass later
  kInternal = 70,         // a bug of ours
};

// "INVALID", "LOST", ...: the name used in logs, metrics and JSON.
std::string_view StatusCodeName(StatusCode code);

// The value of an operation that returns nothing. Success is a null pointer: free to make and
// to test. Copyable, immutable, safe to share between threads.
class [[nodiscard]] Status {
 public:
  Status() = default;  // OK
  Status(StatusCode code, std::string message,
         std::source_location origin = std::source_location::current());

  static Status Ok() { return {}; }

  bool ok() const { return rep_ == nullptr; }
  StatusCode code() const { return rep_ ? rep_->code : StatusCode::kOk; }
  const std::string& message() const;

  // "INVALID: machines.txt:3: ..."; with origin, " [base/foo.cc:12]" behind it.
  std::string ToString(bool with_origin = false) const;

  // The same error seen from one call further out: "context: message". OK stays OK.
  Status Prefixed(std::string_view context) const;

 private:
  struct Rep {
    StatusCode code;
    std::string message;
    std::source_location origin;
  };
  std::shared_ptr<const Rep> rep_;
};

// Short forms: `return Invalid("port {} ...")` after fmt::format by the caller.
#define STRATA_DEFINE_STATUS(Name, Code)                                              \
  inline Status Name(std::string message,                                             \
                     std::source_location origin = std::source_location::current()) { \
    return Status(StatusCode::Code, std::move(message), origin);                      \
  }
STRATA_DEFINE_STATUS(Failed, kFailed)
STRATA_DEFINE_STATUS(Invalid, kInvalid)
STRATA_DEFINE_STATUS(Lost, kLost)
STRATA_DEFINE_STATUS(Refused, kRefused)
STRATA_DEFINE_STATUS(NotFound, kNotFound)
STRATA_DEFINE_STATUS(AlreadyExists, kExists)
STRATA_DEFINE_STATUS(DeadlineExceeded, kDeadlineExceeded)
STRATA_DEFINE_STATUS(Corrupt, kCorrupt)
STRATA_DEFINE_STATUS(Cancelled, kCancelled)
STRATA_DEFINE_STATUS(DiskFull, kDiskFull)
STRATA_DEFINE_STATUS(SessionExpired, kSessionExpired)
STRATA_DEFINE_STATUS(Unavailable, kUnavailable)
STRATA_DEFINE_STATUS(Internal, kInternal)
#undef STRATA_DEFINE_STATUS

// The process's exit code for a final status: 0 done,
// 1 the work failed, 2 bad command line or file, 3 a peer or server is lost, 4 refused, 70 a bug.
int ExitCode(const Status& status);

// A T or the Status that says why there is none. Never holds an OK Status.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}         // NOLINT: implicit by design
  Result(Status status) : status_(std::move(status)) {  // NOLINT: implicit by design
    if (status_.ok()) status_ = Internal("Result made from an OK status");
  }

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }  // OK when there is a value

  // Only when ok().
  T& value() & { return *value_; }
  const T& value() const& { return *value_; }
  T&& value() && { return std::move(*value_); }
  T& operator*() & { return *value_; }
  const T& operator*() const& { return *value_; }
  T&& operator*() && { return std::move(*value_); }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

 private:
  std::optional<T> value_;
  Status status_;
};

// Prints the condition, the operands' text and the place, and ends the process with exit code 70.
// For our own bugs only: what a user, file or peer sends must become a Status.
[[noreturn]] void CheckFailed(const char* condition, std::string_view detail,
                              std::source_location origin);

// What CheckFailed calls after it has printed and before it ends the process: a log or a crash
// reporter of the program's own. It runs on the thread whose check failed, which may hold locks.
using CheckHandler = void (*)(const char* condition, std::string_view detail,
                              const std::source_location& origin);
// Replaces the handler, and returns the one before; null, as at first: nothing is called. Any
// thread.
CheckHandler SetCheckHandler(CheckHandler handler);

}  // namespace strata

#define STRATA_CONCAT_(a, b) a##b
#define STRATA_CONCAT(a, b) STRATA_CONCAT_(a, b)

// Returns the error of a Status expression from the enclosing function.
#define STRATA_TRY(expr)                                   \
  do {                                                     \
    if (::strata::Status s_ = (expr); !s_.ok()) return s_; \
  } while (false)

// STRATA_ASSIGN(auto x, Expr()): declares x from a Result, or returns its error.
#define STRATA_ASSIGN(lhs, expr) STRATA_ASSIGN_(lhs, expr, STRATA_CONCAT(result_, __LINE__))
#define STRATA_ASSIGN_(lhs, expr, tmp)           \
  auto tmp = (expr);                             \
  if (!tmp.ok()) return std::move(tmp).status(); \
  lhs = std::move(tmp).value()

#define STRATA_CHECK(cond)                                               \
  do {                                                                   \
    if (!(cond)) [[unlikely]]                                            \
      ::strata::CheckFailed(#cond, "", std::source_location::current()); \
  } while (false)
// With a text that says the operands: STRATA_CHECK_MSG(a == b, fmt::format("a={} b={}", a, b)).
#define STRATA_CHECK_MSG(cond, detail)                                         \
  do {                                                                         \
    if (!(cond)) [[unlikely]]                                                  \
      ::strata::CheckFailed(#cond, (detail), std::source_location::current()); \
  } while (false)
