// strata-admin collection load: documents from a file, or a folder of files, with the place in it
// as their ids.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/human_text.h"
#include "base/work_pool.h"
#include "ps/client/collections.h"
#include "tools/admin/commands.h"
#include "tools/admin/json_line.h"
#include "tools/admin/set_files.h"
#include "tools/admin/store.h"

namespace strata::admin {
namespace {

constexpr size_t kBatch = 4096;  // documents of one call
constexpr size_t kCalls = 4;     // under way at a time

// A line on stderr: often where somebody looks on, now and then where it is kept.
class LoadProgress {
 public:
  LoadProgress() : is_screen_(isatty(STDERR_FILENO) == 1), begin_(RealClock().Now()) {}
  ~LoadProgress() {
    if (is_screen_ && shown_) fmt::print(stderr, "\n");
  }
  LoadProgress(const LoadProgress&) = delete;
  LoadProgress& operator=(const LoadProgress&) = delete;

  void Show(uint64_t documents, const SetReader& reader) {
    const TimeNs now = RealClock().Now();
    const TimeNs every = is_screen_ ? kSecond / 5 : 10 * kSecond;
    if (now - last_ < every || now - begin_ < every) return;
    last_ = now;
    shown_ = true;
    const double share = static_cast<double>(reader.done()) /
                         static_cast<double>(std::max<uint64_t>(reader.total(), 1));
    const double left = share > 0 ? Seconds() * (1 - share) / share : 0;
    fmt::print(stderr, "{}{} documents, {:.0f} %, {} documents/s, ETA {}{}",
               is_screen_ ? "\r\x1b[K" : "", HumanCount(documents), 100 * share,
               HumanCount(static_cast<uint64_t>(static_cast<double>(documents) / Seconds())),
               HumanSeconds(left), is_screen_ ? "" : "\n");
  }
  double Seconds() const {
    return std::max(1e-9, static_cast<double>(RealClock().Now() - begin_) / kSecond);
  }

 private:
  const bool is_screen_;
  const TimeNs begin_;
  TimeNs last_ = 0;
  bool shown_ = false;
};

// The next documents; none: there are no more.
class DocumentReader {
 public:
  static Result<DocumentReader> Open(const CollectionRequest& request) {
    DocumentReader reader;
    STRATA_ASSIGN(reader.sets_, OpenSets(RealDisk(), request.file, request.offsets));
    reader.first_id_ = request.first_id;
    reader.next_id_ = request.first_id;
    reader.attributes_file_ = request.attributes_file;
    if (request.attributes_file.empty()) return reader;
    STRATA_ASSIGN(reader.attributes_, ReadNumberRows(RealDisk(), request.attributes_file));
    return reader;
  }

  Result<std::vector<Document>> Next() {
    std::vector<TokenSet> sets;
    STRATA_TRY(sets_->Next(kBatch, &sets));
    std::vector<Document> documents;
    for (TokenSet& set : sets) {
      if (has_no_id_) {
        return Invalid(
            fmt::format("--first-id {}: expected an id for each document up to 2^64 - 1, "
                        "found more documents",
                        first_id_));
      }
      has_no_id_ = next_id_ == UINT64_MAX;
      documents.push_back({.id = next_id_++, .tokens = std::move(set), .attributes = {}});
      if (attributes_file_.empty()) continue;
      if (row_ == attributes_.size()) {
        return Invalid(
            fmt::format("{}: expected a row for each document, found {}, and there are "
                        "more documents",
                        attributes_file_, attributes_.size()));
      }
      documents.back().attributes = std::move(attributes_[row_++]);
    }
    if (documents.empty() && row_ < attributes_.size()) {
      return Invalid(fmt::format("{}: expected a row for each of {} documents, found {}",
                                 attributes_file_, row_, attributes_.size()));
    }
    return documents;
  }
  const SetReader& sets() const { return *sets_; }

 private:
  std::unique_ptr<SetReader> sets_;
  uint64_t first_id_ = 0;
  uint64_t next_id_ = 0;
  bool has_no_id_ = false;  // the last document has the last one
  std::string attributes_file_;
  std::vector<std::vector<int64_t>> attributes_;
  size_t row_ = 0;
};

}  // namespace

Status RunCollectionLoad(const Request& request, std::string* out) {
  const CollectionRequest& load = request.collection;
  STRATA_ASSIGN(DocumentReader reader, DocumentReader::Open(load));
  STRATA_ASSIGN(const auto store, ConnectStore(request));
  STRATA_ASSIGN(const auto pool, WorkPool::Start("load", kCalls - 1));
  Collections collections(*store);
  STRATA_TRY(collections.Stats(load.name).status());  // it is there
  uint64_t loaded = 0;
  bool has_sent = false;
  double seconds = 0;
  const auto run = [&]() -> Status {
    LoadProgress progress;
    while (true) {
      std::array<std::vector<Document>, kCalls> batches;
      size_t documents = 0;
      for (auto& batch : batches) {
        STRATA_ASSIGN(batch, reader.Next());
        documents += batch.size();
      }
      seconds = progress.Seconds();
      if (documents == 0) return {};
      has_sent = true;
      std::array<Status, kCalls> outcomes;
      pool->Run(kCalls, [&](size_t i) {
        if (!batches[i].empty()) {
          outcomes[i] = collections.Upsert(load.name, batches[i], load.ack);
        }
      });
      for (const Status& outcome : outcomes) STRATA_TRY(outcome);
      loaded += documents;
      progress.Show(loaded, reader.sets());
    }
  };
  if (const Status status = run(); !status.ok()) {
    if (!has_sent) return status;
    return Status(status.code(),
                  fmt::format("{}\n{} documents are loaded, some behind them may be; loading again "
                              "puts each in its place",
                              status.message(), HumanCount(loaded)));
  }
  const double rate = static_cast<double>(loaded) / std::max(seconds, 1e-9);
  *out =
      request.output == Request::Output::kJson
          ? JsonLine({{"collection", load.name},
                      {"loaded", loaded},
                      {"seconds", seconds},
                      {"documents_per_second", rate}})
          : fmt::format("loaded {} documents into {} in {}, {} a second\n", HumanCount(loaded),
                        load.name, HumanSeconds(seconds), HumanCount(static_cast<uint64_t>(rate)));
  return {};
}

}  // namespace strata::admin
