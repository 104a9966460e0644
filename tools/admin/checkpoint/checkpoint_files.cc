// strata-admin verify and export: checkpoints as files, without a server.
#include "storage/checkpoint/checkpoint_files.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file/disk.h"
#include "base/human_text.h"
#include "proto/format/checkpoint_manifest.h"
#include "storage/checkpoint/export.h"
#include "storage/checkpoint/part_writer.h"
#include "storage/checkpoint/verify.h"
#include "tools/admin/commands.h"
#include "tools/admin/text/json_line.h"
#include "tools/admin/text/table_text.h"

namespace strata::admin {
namespace {

using Json = nlohmann::ordered_json;

// What DIR names: a folder of checkpoints, or one of them.
struct Place {
  std::string root;
  std::vector<uint32_t> numbers;  // newest first, at least one
  std::vector<CheckpointList::Damaged> damaged;
};

Result<Place> FindPlace(std::string folder) {
  while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
  const size_t slash = folder.rfind('/');
  const std::string_view name =
      slash == std::string::npos ? folder : std::string_view(folder).substr(slash + 1);
  if (const auto number = format::ParseCheckpointFolderName(name); number.has_value()) {
    const std::string root = slash == std::string::npos ? "." : folder.substr(0, slash);
    return Place{.root = root.empty() ? "/" : root, .numbers = {*number}, .damaged = {}};
  }
  STRATA_ASSIGN(CheckpointList list, ListCheckpoints(RealDisk(), folder));
  Place place{.root = std::move(folder), .numbers = {}, .damaged = std::move(list.damaged)};
  for (const auto& manifest : list.checkpoints) place.numbers.push_back(manifest.number);
  if (!place.numbers.empty() || !place.damaged.empty()) return place;
  const bool there = RealDisk().List(place.root).status().code() != StatusCode::kNotFound;
  return NotFound(
      fmt::format("{}: {}: expected a folder of checkpoints, such as DATA/checkpoints of a server, "
                  "or one of its folders with a number for a name",
                  place.root, there ? "there is no checkpoint in it" : "there is no such folder"));
}

void Merge(VerifyReport&& part, VerifyReport* whole) {
  whole->checkpoints.insert(whole->checkpoints.end(), part.checkpoints.begin(),
                            part.checkpoints.end());
  whole->files += part.files;
  whole->bytes += part.bytes;
  whole->rows += part.rows;
  for (Status& finding : part.findings) whole->findings.push_back(std::move(finding));
}

// The newest; kCorrupt when it cannot be told what that holds: an older one is taken by name only.
Result<uint32_t> NewestOf(const Place& place) {
  const uint32_t readable = place.numbers.empty() ? 0 : place.numbers.front();
  if (place.damaged.empty() || place.damaged.front().number < readable) return readable;
  const Status& status = place.damaged.front().status;
  const std::string newest = fmt::format("the newest checkpoint is damaged: {}", status.message());
  if (readable == 0) return Corrupt(newest + "; no other one is there");
  return Corrupt(fmt::format("{}; to take an older one, name its folder: {}", newest,
                             CheckpointFolder(place.root, readable)));
}

// Those that another builds on are read with it.
Result<VerifyReport> VerifyAll(const Place& place) {
  VerifyReport whole;
  for (const CheckpointList::Damaged& one : place.damaged) whole.findings.push_back(one.status);
  std::set<uint32_t> seen;
  for (const uint32_t number : place.numbers) {
    if (seen.contains(number)) continue;
    STRATA_ASSIGN(VerifyReport part, VerifyCheckpoint(RealDisk(), place.root, number));
    seen.insert(part.checkpoints.begin(), part.checkpoints.end());
    Merge(std::move(part), &whole);
  }
  return whole;
}

std::string VerifyText(const std::string& folder, const VerifyReport& report) {
  std::string text = fmt::format(
      "{}: {} in {}, {}, {}\n", folder, Counted(report.checkpoints.size(), "checkpoint"),
      Counted(report.files, "file"), HumanBytes(report.bytes), Counted(report.rows, "row"));
  for (const Status& finding : report.findings) text += Printable(finding.ToString()) + "\n";
  if (report.findings.empty()) text += "every byte is as it was written\n";
  return text;
}

Json VerifyJson(const std::string& folder, const VerifyReport& report) {
  Json findings = Json::array();
  for (const Status& finding : report.findings) findings.push_back(finding.ToString());
  return {{"folder", folder},
          {"ok", report.findings.empty()},
          {"checkpoints", report.checkpoints},
          {"files", report.files},
          {"bytes", report.bytes},
          {"rows", report.rows},
          {"findings", std::move(findings)}};
}

}  // namespace

Status RunVerify(const Request& request, std::string* out) {
  STRATA_ASSIGN(const Place place, FindPlace(request.file));
  STRATA_ASSIGN(const VerifyReport report, VerifyAll(place));
  *out = request.output == Request::Output::kJson ? JsonLine(VerifyJson(request.file, report))
                                                  : VerifyText(request.file, report);
  if (report.findings.empty()) return {};
  return Corrupt(fmt::format("{}: {}; nothing was changed", request.file,
                             Counted(report.findings.size(), "finding")));
}

Status RunExport(const Request& request, std::string* out) {
  STRATA_ASSIGN(const Place place, FindPlace(request.file));
  STRATA_ASSIGN(const uint32_t number, NewestOf(place));
  STRATA_ASSIGN(const ExportFormat format, ParseExportFormat(request.export_format));
  STRATA_ASSIGN(
      const ExportReport report,
      ExportTable(RealDisk(), place.root, number, request.table, format, request.export_folder));
  if (request.output == Request::Output::kJson) {
    *out = JsonLine({{"checkpoint", number},
                     {"table", request.table},
                     {"format", request.export_format},
                     {"rows", report.rows},
                     {"dim", report.dim},
                     {"files", report.files}});
    return {};
  }
  *out = fmt::format("checkpoint {}, table {}: {} of dimension {}\n", number, request.table,
                     Counted(report.rows, "row"), report.dim);
  for (const std::string& file : report.files) *out += file + "\n";
  return {};
}

}  // namespace strata::admin
