#include "strata/status.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace strata {

std::string_view StatusCodeName(StatusCode code) {
  switch (code) {
    case StatusCode::kOk:
      return "OK";
    case StatusCode::kFailed:
      return "FAILED";
    case StatusCode::kInvalid:
      return "INVALID";
    case StatusCode::kLost:
      return "LOST";
    case StatusCode::kRefused:
      return "REFUSED";
    case StatusCode::kNotFound:
      return "NOT_FOUND";
    case StatusCode::kExists:
      return "EXISTS";
    case StatusCode::kDeadlineExceeded:
      return "DEADLINE_EXCEEDED";
    case StatusCode::kCorrupt:
      return "CORRUPT";
    case StatusCode::kCancelled:
      return "CANCELLED";
    case StatusCode::kDiskFull:
      return "DISK_FULL";
    case StatusCode::kSessionExpired:
      return "SESSION_EXPIRED";
    case StatusCode::kUnavailable:
      return "UNAVAILABLE";
    case StatusCode::kInternal:
      return "INTERNAL";
  }
  return "UNKNOWN";
}

Status::Status(StatusCode code, std::string message, std::source_location origin) {
  if (code == StatusCode::kOk) return;
  rep_ = std::make_shared<const Rep>(Rep{code, std::move(message), origin});
}

const std::string& Status::message() const {
  static const std::string empty;
  return rep_ ? rep_->message : empty;
}

std::string Status::ToString(bool with_origin) const {
  if (ok()) return "OK";
  std::string text = std::string(StatusCodeName(rep_->code)) + ": " + rep_->message;
  if (with_origin) {
    text += std::string(" [") + rep_->origin.file_name() + ":" +
            std::to_string(rep_->origin.line()) + "]";
  }
  return text;
}

Status Status::Prefixed(std::string_view context) const {
  if (ok()) return *this;
  return Status(rep_->code, std::string(context) + ": " + rep_->message, rep_->origin);
}

int ExitCode(const Status& status) {
  switch (status.code()) {
    case StatusCode::kOk:
      return 0;
    case StatusCode::kInvalid:
    case StatusCode::kNotFound:
    case StatusCode::kExists:
      return 2;
    case StatusCode::kLost:
    case StatusCode::kDeadlineExceeded:
    case StatusCode::kSessionExpired:
    case StatusCode::kUnavailable:
      return 3;
    case StatusCode::kRefused:
      return 4;
    case StatusCode::kInternal:
      return 70;
    case StatusCode::kFailed:
    case StatusCode::kCorrupt:
    case StatusCode::kCancelled:
    case StatusCode::kDiskFull:
      return 1;
  }
  return 70;
}

void CheckFailed(const char* condition, std::string_view detail, std::source_location origin) {
  std::fprintf(stderr, "strata: bug: check failed: %s%s%.*s at %s:%u\n", condition,
               detail.empty() ? "" : ": ", static_cast<int>(detail.size()), detail.data(),
               origin.file_name(), origin.line());
  std::fflush(stderr);
  // A handler that fails a check itself is not called again.
  if (const CheckHandler handler = SetCheckHandler(nullptr); handler != nullptr) {
    handler(condition, detail, origin);
  }
  std::_Exit(70);
}

CheckHandler SetCheckHandler(CheckHandler handler) {
  static std::atomic<CheckHandler> current = nullptr;
  return current.exchange(handler);
}

}  // namespace strata
