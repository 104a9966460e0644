#include "base/log.h"

#include <spdlog/details/file_helper.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <memory>
#include <mutex>
#include <system_error>
#include <utility>

namespace strata {
namespace {

std::atomic<LogLevel> g_level{LogLevel::kInfo};
std::atomic<std::shared_ptr<const LogSink>> g_sink;  // null: there is none

spdlog::level::level_enum ToSpdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
    case LogLevel::kOff:
      return spdlog::level::off;
  }
  return spdlog::level::off;
}

// A file that can be opened anew under its name.
class FileSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit FileSink(const std::string& path) : path_(path), file_(Opened(path)) {}

  // Throws when it cannot be opened; the one before is kept.
  void Reopen() {
    auto file = Opened(path_);
    const std::lock_guard lock(mutex_);
    file_ = std::move(file);
  }

 private:
  static std::unique_ptr<spdlog::details::file_helper> Opened(const std::string& path) {
    auto file = std::make_unique<spdlog::details::file_helper>();
    file->open(path);
    return file;
  }

  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    file_->write(line);
  }
  void flush_() override { file_->flush(); }

  const std::string path_;
  std::unique_ptr<spdlog::details::file_helper> file_;
};

std::shared_ptr<spdlog::logger> MakeLogger(spdlog::sink_ptr sink, std::string_view node) {
  auto logger = std::make_shared<spdlog::logger>("strata", std::move(sink));
  logger->set_level(spdlog::level::trace);  // LogEnabled decides
  logger->flush_on(spdlog::level::trace);   // a killed process must not take its last lines along
  std::string name;
  for (char c : node) name += c == '%' ? "%%" : std::string(1, c);
  logger->set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %l " + name + (name.empty() ? "%v" : " %v"),
                      spdlog::pattern_time_type::utc);
  return logger;
}

// Before StartLogging, lines go to stderr without a node.
std::shared_ptr<spdlog::logger>& Logger() {
  static auto logger = MakeLogger(std::make_shared<spdlog::sinks::stderr_sink_mt>(), "");
  return logger;
}

// Holds the file that the logger writes to; null when it writes to stderr alone.
std::shared_ptr<FileSink>& LogFile() {
  static std::shared_ptr<FileSink> file;
  return file;
}

// spdlog would make the folders of a mistyped path.
Status CheckFolderOf(const std::string& file) {
  const std::filesystem::path folder = std::filesystem::path(file).parent_path();
  std::error_code error;
  if (folder.empty() || std::filesystem::is_directory(folder, error)) return Status::Ok();
  return Failed(fmt::format("cannot write the log to {}: there is no folder {}; make it first",
                            file, folder.string()));
}

void Write(LogLevel level, std::string_view text) {
  if (const std::shared_ptr<const LogSink> sink = g_sink.load()) return (*sink)(level, text);
  Logger()->log(ToSpdlog(level), text);
}

}  // namespace

Result<LogLevel> ParseLogLevel(std::string_view name) {
  if (name == "debug") return LogLevel::kDebug;
  if (name == "info") return LogLevel::kInfo;
  if (name == "warning") return LogLevel::kWarning;
  if (name == "error") return LogLevel::kError;
  if (name == "off") return LogLevel::kOff;
  return Invalid(
      fmt::format("log level '{}' is unknown: expected debug, info, warning, error or off", name));
}

Status StartLogging(LogLevel level, const std::string& node, const std::string& file) {
  STRATA_TRY(CheckFolderOf(file));
  try {
    spdlog::sink_ptr sink;
    if (file.empty()) {
      LogFile() = nullptr;
      sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
    } else {
      LogFile() = std::make_shared<FileSink>(file);
      sink = LogFile();
    }
    Logger() = MakeLogger(std::move(sink), node);
  } catch (const spdlog::spdlog_ex& error) {
    return Failed(fmt::format("cannot write the log to {}: {}", file, error.what()));
  }
  SetLogLevel(level);
  return Status::Ok();
}

void SetLogLevel(LogLevel level) { g_level.store(level, std::memory_order_relaxed); }

void SetLogSink(LogSink sink) {
  g_sink.store(sink ? std::make_shared<const LogSink>(std::move(sink)) : nullptr);
}

Result<bool> ReopenLog() {
  if (LogFile() == nullptr) return false;
  try {
    LogFile()->Reopen();
  } catch (const spdlog::spdlog_ex& error) {
    return Failed(fmt::format("the log's file cannot be opened anew: {}", error.what()));
  }
  return true;
}

void FlushLog() { Logger()->flush(); }

bool LogEnabled(LogLevel level) {
  return level != LogLevel::kOff && level >= g_level.load(std::memory_order_relaxed);
}

void LogText(LogLevel level, std::string_view text) {
  // A line of the log begins with a time: what follows a line break, perhaps sent by a peer, must
  // not pass for one.
  if (std::ranges::none_of(text, [](char c) { return static_cast<unsigned char>(c) < ' '; })) {
    return Write(level, text);
  }
  std::string safe;
  for (char c : text) {
    if (c == '\n') {
      safe += "\n    ";
    } else {
      safe += static_cast<unsigned char>(c) < ' ' && c != '\t' ? '?' : c;
    }
  }
  Write(level, safe);
}

}  // namespace strata
