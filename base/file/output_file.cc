#include "base/file/output_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <system_error>

#include "base/print.h"

namespace strata {
namespace {

constexpr size_t kTriedBytes = 4096;
constexpr int kNamesTried = 1000;

// A full disk stays one; anything else is a path that will not do.
Status AsWrongPlace(std::string_view expected, const Status& why) {
  if (why.ok() || why.code() == StatusCode::kDiskFull) return why;
  return Invalid(fmt::format("expected {}: {}", expected, why.message()));
}

// Where WriteFileAtomically writes at first.
std::string TemporaryName(const std::string& path) { return path + ".tmp"; }

bool IsNoFile(const NamedFile& file) { return file.path.empty() || IsStandardOutput(file.path); }

Status CheckStays(Disk& disk, const NamedFile& output, const NamedFile& input) {
  if (disk.Replaces(output.path, input.path)) {
    return Invalid(fmt::format("{} would take the place of {}, a file of {}: name another",
                               output.name, input.path, input.name));
  }
  if (disk.Replaces(TemporaryName(output.path), input.path)) {
    return Invalid(fmt::format("{} is written as {} at first, a file of {}: name another",
                               output.name, TemporaryName(output.path), input.name));
  }
  return {};
}

Status CheckApart(Disk& disk, const NamedFile& output, const NamedFile& other) {
  if (disk.Replaces(output.path, other.path) || disk.Replaces(other.path, output.path)) {
    return Invalid(fmt::format("{} and {} are one file: name two", output.name, other.name));
  }
  STRATA_TRY(CheckStays(disk, output, other));
  return CheckStays(disk, other, output);
}

Status TryToWrite(Disk& disk, const std::string& path) {
  Status written;
  {
    STRATA_ASSIGN(const std::unique_ptr<File> file, disk.Create(path));
    const std::array<std::byte, kTriedBytes> bytes = {};
    written = file->Append(bytes);
  }
  const Status removed = disk.Remove(path);
  return written.ok() ? removed : written;
}

// The name that an output has in another folder.
std::string NameOf(const std::string& path) {
  if (IsStandardOutput(path)) return "output";
  std::string_view text = path;
  while (text.ends_with('/')) text.remove_suffix(1);
  return std::string(text.substr(text.rfind('/') + 1));
}

// A name in the folder that nothing has yet; "": there is none to be had.
std::string FreshName(Disk& disk, const std::string& folder, const std::string& name) {
  for (int i = 1; i <= kNamesTried; ++i) {
    std::string path = fmt::format("{}/{}.kept", folder, name);
    if (i > 1) path += fmt::format("-{}", i);
    if (disk.OpenToRead(path).status().code() == StatusCode::kNotFound) return path;
  }
  return "";
}

std::string TemporaryFolder() {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(error);
  return error ? "/tmp" : folder.string();
}

}  // namespace

bool IsStandardOutput(std::string_view path) {
  constexpr std::string_view kNames[] = {"-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"};
  return std::ranges::count(kNames, path) > 0;
}

Status TryOutputFile(Disk& disk, const std::string& path) {
  if (path.empty() || IsStandardOutput(path)) return {};
  const size_t slash = path.rfind('/');
  const bool names_folder = slash != std::string::npos && slash > 0;
  const std::string folder = names_folder ? path.substr(0, slash) : "";
  if (folder == "/dev" || folder == "/dev/fd" || folder.starts_with("/proc")) {
    return Invalid(
        "is a device, as all names in /dev and /proc are; expected a file, which is written apart "
        "and then put in place: name one, or - for standard output");
  }
  STRATA_TRY(disk.TryReplace(path));
  const Status listed = names_folder ? disk.List(folder).status() : Status();
  // One that only cannot be read will do.
  if (listed.code() == StatusCode::kNotFound) {
    return Invalid("expected a file in a folder that is there: " + listed.message());
  }
  return AsWrongPlace("a file in a folder that can be written",
                      TryToWrite(disk, TemporaryName(path)));
}

Status CheckOutputFiles(Disk& disk, std::span<const NamedFile> outputs,
                        std::span<const NamedFile> inputs) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (IsNoFile(outputs[i])) continue;
    for (const NamedFile& input : inputs) {
      if (!IsNoFile(input)) STRATA_TRY(CheckStays(disk, outputs[i], input));
    }
    for (const NamedFile& other : outputs.subspan(i + 1)) {
      if (!IsNoFile(other)) STRATA_TRY(CheckApart(disk, outputs[i], other));
    }
  }
  for (const NamedFile& output : outputs) {
    STRATA_TRY(TryOutputFile(disk, output.path).Prefixed(output.name));
  }
  return {};
}

Status TryOutputFolder(Disk& disk, const std::string& folder) {
  if (IsStandardOutput(folder)) return Invalid("is standard output; expected a folder");
  const Status made = MakeDurableFolder(disk, folder);
  STRATA_TRY(AsWrongPlace("a folder", made));
  const Status listed = disk.List(folder).status();
  return AsWrongPlace("a folder that can be read and written",
                      listed.ok() ? TryToWrite(disk, folder + "/write-test.tmp") : listed);
}

Status WriteOutput(Disk& disk, const std::string& path, std::string_view content) {
  return WriteOrKeep(disk, path, [&](const std::string& to) {
    return IsStandardOutput(to) ? WriteStdout(content) : WriteFileAtomically(disk, to, content);
  });
}

Status WriteOrKeep(Disk& disk, const std::string& path,
                   const std::function<Status(const std::string& path)>& write) {
  const Status failed = write(path);
  if (failed.ok()) return {};
  if (IsStandardOutput(path) && IsStdoutUnread()) return failed;
  const StatusCode code =
      failed.code() == StatusCode::kDiskFull ? StatusCode::kDiskFull : StatusCode::kFailed;
  for (const std::string& folder : {std::string("."), TemporaryFolder()}) {
    const std::string kept = FreshName(disk, folder, NameOf(path));
    if (kept.empty()) continue;
    if (!write(kept).ok()) {
      static_cast<void>(disk.Remove(kept));  // an empty folder
      continue;
    }
    return Status(code, fmt::format("{}; what was to be written is in {}: move it to its place",
                                    failed.message(), kept));
  }
  return Status(code, fmt::format("{}; nor can it be written in the working folder or in {}: what "
                                  "was to be written is lost",
                                  failed.message(), TemporaryFolder()));
}

}  // namespace strata
