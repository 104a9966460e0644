// strata-admin collection load: documents from a file, a folder of files or an export, with the
// place in it as their ids or with ids of their own.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/human_text.h"
#include "base/signals.h"
#include "base/thread/work_pool.h"
#include "ps/client/collections.h"
#include "storage/itemset/item_export.h"
#include "storage/itemset/set_files.h"
#include "tools/admin/collection/document_progress.h"
#include "tools/admin/collection/id_file.h"
#include "tools/admin/collection/stored_documents.h"
#include "tools/admin/commands.h"
#include "tools/admin/tables/store.h"
#include "tools/admin/text/json_line.h"

namespace strata::admin {
namespace {

constexpr size_t kBatch = 4096;  // documents of one call
constexpr size_t kCalls = 4;     // under way at a time

// The next documents; none: there are no more.
class DocumentReader {
 public:
  static Result<DocumentReader> Open(const CollectionRequest& request) {
    DocumentReader reader;
    STRATA_ASSIGN(reader.sets_, OpenSets(RealDisk(), request.file, request.offsets));
    reader.file_ = request.file;
    reader.first_id_ = request.first_id;
    reader.attributes_file_ = request.attributes_file;
    reader.ids_file_ = request.ids_file;
    if (!request.attributes_file.empty()) {
      STRATA_ASSIGN(reader.attributes_, ReadNumberRows(RealDisk(), request.attributes_file));
    }
    if (!request.ids_file.empty()) {
      STRATA_ASSIGN(reader.ids_, ReadIds(RealDisk(), request.ids_file));
      STRATA_TRY(CheckIdsOnce(reader.ids_, request.ids_file));
    }
    return reader;
  }

  Result<std::vector<Document>> Next() {
    std::vector<TokenSet> sets;
    STRATA_TRY(sets_->Next(kBatch, &sets));
    if (read_ + sets.size() > most_) {
      return Failed(fmt::format(
          "{}: has more documents than a moment ago: load what does not change", file_));
    }
    std::vector<Document> documents;
    for (TokenSet& set : sets) {
      const DocumentId id = ids_file_.empty() ? first_id_ + read_ : ids_[read_];
      documents.push_back({.id = id, .tokens = std::move(set), .attributes = {}});
      if (!attributes_file_.empty()) documents.back().attributes = std::move(attributes_[read_]);
      ++read_;
    }
    return documents;
  }
  // Of the documents, or of their bytes; from 0 to 1.
  double share() const {
    return static_cast<double>(sets_->done()) /
           static_cast<double>(std::max<uint64_t>(sets_->total(), 1));
  }
  // kInvalid unless documents have as many attributes as the collection wants.
  Status CheckAttributes(const CollectionSpec& spec) const {
    const std::string wanted = fmt::format(
        "collection '{}' has {}{}", spec.name, Counted(spec.attributes.size(), "attribute"),
        spec.attributes.empty() ? "" : fmt::format(" ({})", fmt::join(spec.attributes, ", ")));
    if (attributes_file_.empty() && !spec.attributes.empty()) {
      return Invalid(
          fmt::format("{}: expected --attributes FILE.npy with a row of so many numbers "
                      "for each document, found none",
                      wanted));
    }
    for (size_t row = 0; row < attributes_.size(); ++row) {
      if (attributes_[row].size() == spec.attributes.size()) continue;
      return Invalid(fmt::format("{}, row {}: expected {}, as {}; found {}{}", attributes_file_,
                                 row, Counted(spec.attributes.size(), "number"), wanted,
                                 attributes_[row].size(),
                                 spec.attributes.empty() ? ": leave --attributes out" : ""));
    }
    return {};
  }

  // kInvalid unless each document has an id, and attributes where there are any: before the first
  // one is sent.
  Status CheckCounts() {
    const uint64_t ids_left = UINT64_MAX - first_id_;  // behind the first one
    if (ids_file_.empty() && attributes_file_.empty() && sets_->total() <= ids_left) return {};
    STRATA_ASSIGN(most_, sets_->Count());
    const auto check = [&](const std::string& file, const char* one, size_t found) -> Status {
      if (file.empty() || found == most_) return {};
      return Invalid(
          fmt::format("{}: expected {} for each of the {} of {}, found {}: give as many "
                      "as there are documents, in their order",
                      file, one, Counted(most_, "document"), file_, found));
    };
    STRATA_TRY(check(ids_file_, "an id", ids_.size()));
    STRATA_TRY(check(attributes_file_, "a row", attributes_.size()));
    if (!ids_file_.empty() || most_ == 0 || most_ - 1 <= ids_left) return {};
    return Invalid(fmt::format(
        "--first-id {}: expected an id up to 2^64 - 1 for each of the {} of {}, found ids for "
        "{}: give {} or less, or ids of their own with --ids",
        first_id_, Counted(most_, "document"), file_, HumanCount(ids_left + 1),
        UINT64_MAX - (most_ - 1)));
  }

 private:
  std::string file_;
  std::unique_ptr<SetReader> sets_;
  uint64_t first_id_ = 0;
  uint64_t most_ = UINT64_MAX;  // documents that have ids and attributes
  std::string attributes_file_;
  std::vector<std::vector<int64_t>> attributes_;
  std::string ids_file_;
  std::vector<DocumentId> ids_;
  size_t read_ = 0;  // documents
};

// An export, its files in the place of those of a request.
struct Exported {
  CollectionRequest request;
  std::vector<std::string> attributes;

  static Result<Exported> Open(const CollectionRequest& load) {
    if (!load.offsets.empty() || !load.attributes_file.empty() || !load.ids_file.empty() ||
        load.first_id != 0) {
      return Invalid(
          fmt::format("{}: is an export, which has offsets, attributes and ids of its "
                      "own: leave --offsets, --attributes, --ids and --first-id out",
                      load.file));
    }
    STRATA_ASSIGN(const format::ItemExport manifest, CheckItemExport(RealDisk(), load.file));
    Exported exported{.request = load, .attributes = manifest.attributes};
    const auto path = [&](const char* name) { return fmt::format("{}/{}", load.file, name); };
    exported.request.file = path(kExportedTokens);
    exported.request.offsets = path(kExportedOffsets);
    exported.request.ids_file = path(kExportedIds);
    if (!manifest.attributes.empty()) exported.request.attributes_file = path(kExportedAttributes);
    return exported;
  }
  // The collection that it goes into. Another one's attributes would be other numbers.
  Result<CollectionSpec> Find(Collections& collections, const std::string& name) const {
    std::string create = fmt::format("strata-admin collection create {}", name);
    for (const std::string& attribute : attributes) create += " --attribute " + attribute;
    Result<CollectionSpec> spec = FindCollection(collections, name);
    if (spec.status().code() == StatusCode::kNotFound) {
      return NotFound(fmt::format("there is no collection '{}'; {}", name, create));
    }
    if (!spec.ok() || spec->attributes == attributes) return spec;
    return Invalid(fmt::format(
        "collection '{}': expected the attributes of the export ({}), in "
        "their order; found {}: load it into another one, of {}",
        name, fmt::join(attributes, ", "),
        spec->attributes.empty() ? "none" : fmt::format("{}", fmt::join(spec->attributes, ", ")),
        create));
  }
};

// All batches that were sent are answered.
Status Stopped(int signal, uint64_t loaded, const CollectionRequest& load) {
  return Cancelled(
      fmt::format("stopped by {}: the first {} of {} are acknowledged; to go on, give the same "
                  "command again: it "
                  "begins anew, and each document is put in its place",
                  signal == SIGINT ? "SIGINT" : "SIGTERM", Counted(loaded, "document"), load.file));
}

std::string HowFar(uint64_t loaded, uint64_t unknown) {
  const std::string behind =
      unknown == 0 ? "none behind them was sent"
                   : fmt::format("of the {} behind them it is not known whether they are stored",
                                 HumanCount(unknown));
  return fmt::format(
      "the first {} are acknowledged, {}: to go on, give the same command again, it puts each in "
      "its place",
      Counted(loaded, "document"), behind);
}

}  // namespace

Status RunCollectionLoad(const Request& request, std::string* out) {
  const CollectionRequest& load = request.collection;
  BlockShutdownSignals();  // before there are threads
  std::atomic<int> signal = 0;
  const SignalWatch watch([&](int number) { signal = number; });
  std::optional<Exported> exported;
  if (IsItemExport(RealDisk(), load.file)) {
    STRATA_ASSIGN(exported, Exported::Open(load));
  }
  STRATA_ASSIGN(DocumentReader reader, DocumentReader::Open(exported ? exported->request : load));
  STRATA_ASSIGN(const auto store, ConnectStore(request));
  STRATA_ASSIGN(const auto pool, WorkPool::Start("load", kCalls - 1));
  Collections collections(*store);
  STRATA_ASSIGN(const CollectionSpec spec, exported ? exported->Find(collections, load.name)
                                                    : FindCollection(collections, load.name));
  STRATA_ASSIGN(const auto before, collections.MarksByLane(load.name));  // all lanes have it
  STRATA_TRY(reader.CheckAttributes(spec));
  STRATA_TRY(reader.CheckCounts());
  uint64_t loaded = 0;   // acknowledged, from the first document on
  uint64_t unknown = 0;  // behind them, sent and not acknowledged
  double seconds = 0;
  const auto run = [&]() -> Status {
    DocumentProgress progress("load");
    while (true) {
      std::array<std::vector<Document>, kCalls> batches;
      size_t documents = 0;
      for (auto& batch : batches) {
        STRATA_ASSIGN(batch, reader.Next());
        documents += batch.size();
      }
      seconds = progress.Seconds();
      if (documents == 0) return {};
      if (signal != 0) return Stopped(signal, loaded, load);
      std::array<Status, kCalls> outcomes;
      pool->Run(kCalls, [&](size_t i) {
        if (!batches[i].empty()) {
          outcomes[i] = collections.Upsert(load.name, batches[i], load.ack);
        }
      });
      unknown = documents;
      for (size_t i = 0; i < kCalls; ++i) {
        STRATA_TRY(outcomes[i]);
        loaded += batches[i].size();
        unknown -= batches[i].size();
      }
      progress.Show(loaded, reader.share());
    }
  };
  if (const Status status = run(); !status.ok()) {
    if (loaded + unknown == 0 || status.code() == StatusCode::kCancelled) return status;
    const bool is_refused = status.code() == StatusCode::kRefused && loaded == 0;
    return Status(status.code(),
                  status.message() + "\n" +
                      (is_refused && IsAsBefore(collections, load.name, before)
                           ? fmt::format("none of the documents of {} was stored", load.file)
                           : HowFar(loaded, unknown)));
  }
  *out = request.output == Request::Output::kJson
             ? JsonLine({{"collection", load.name},
                         {"loaded", loaded},
                         {"seconds", seconds},
                         {"documents_per_second", DocumentsPerSecond(loaded, seconds)}})
             : DoneLine("loaded", loaded, "into collection " + load.name, seconds) + "\n";
  return {};
}

}  // namespace strata::admin
