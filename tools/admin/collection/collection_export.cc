// strata-admin collection export: all documents of a collection in a folder, which load takes on
// any cluster, of whatever lanes.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/file/output_file.h"
#include "base/human_text.h"
#include "base/signals.h"
#include "ps/client/collections.h"
#include "storage/itemset/item_export.h"
#include "tools/admin/collection/document_progress.h"
#include "tools/admin/collection/stored_documents.h"
#include "tools/admin/commands.h"
#include "tools/admin/tables/store.h"
#include "tools/admin/text/json_line.h"

namespace strata::admin {
namespace {

// Documents that change meanwhile may be in it as before or as after.
constexpr const char* kNotOneMoment =
    "documents were changed while they were written: what changed is in it as it was before or as "
    "it is after, and everything else as it is\n";

Status CheckShape(const CollectionSpec& spec, const std::vector<Document>& documents) {
  for (const Document& document : documents) {
    if (document.attributes.size() == spec.attributes.size()) continue;
    return Failed(
        fmt::format("document {} has {}, and collection '{}' had {}: it was replaced by "
                    "another one meanwhile; export again",
                    document.id, Counted(document.attributes.size(), "attribute"), spec.name,
                    spec.attributes.size()));
  }
  return {};
}

}  // namespace

Status RunCollectionExport(const Request& request, std::string* out) {
  const std::string& name = request.collection.name;
  const std::string& folder = request.collection.to;
  if (IsStandardOutput(folder)) {
    return Invalid(
        fmt::format("{}: expected a folder, as an export is several files; give ./- for "
                    "one of the name -",
                    folder));
  }
  BlockShutdownSignals();  // before there are threads
  std::atomic<int> signal = 0;
  const SignalWatch watch([&](int number) { signal = number; });
  STRATA_ASSIGN(const auto store, ConnectStore(request));
  const auto lanes = static_cast<uint16_t>(store->Map().lanes.size());
  Collections collections(*store);
  STRATA_ASSIGN(const CollectionSpec spec, FindCollection(collections, name));
  STRATA_ASSIGN(const auto before, collections.MarksByLane(name));
  uint64_t expected = 0;
  for (const Collections::LaneMark& mark : before) expected += mark.documents;
  STRATA_ASSIGN(const auto exporter,
                ItemExporter::Begin(RealDisk(), folder, name, spec.attributes));
  DocumentProgress progress("export");
  const auto run = [&]() -> Status {
    for (uint16_t lane = 0; lane < lanes; ++lane) {
      DocumentPage page;
      while (!page.done) {
        if (signal != 0) {
          return Cancelled(fmt::format("stopped by {}", signal == SIGINT ? "SIGINT" : "SIGTERM"));
        }
        STRATA_ASSIGN(page, collections.ScanLane(name, lane, page.cursor));
        STRATA_TRY(CheckShape(spec, page.documents));
        STRATA_TRY(exporter->Add(page.documents));
        progress.Show(exporter->documents(),
                      std::min(1.0, static_cast<double>(exporter->documents()) /
                                        static_cast<double>(std::max<uint64_t>(expected, 1))));
      }
    }
    return {};
  };
  if (const Status status = run(); !status.ok()) {
    return Status(
        status.code(),
        fmt::format("{}\nthe first {} are written; {} is no export yet: to have one, give the same "
                    "command again, it begins anew",
                    status.message(), Counted(exporter->documents(), "document"), folder));
  }
  STRATA_ASSIGN(const auto after, collections.MarksByLane(name));
  STRATA_ASSIGN(const format::ItemExport manifest, exporter->Finish(before == after));
  const double seconds = progress.Seconds();
  uint64_t bytes = 0;
  for (const format::ItemExport::File& file : manifest.files) bytes += file.bytes;
  if (request.output == Request::Output::kJson) {
    *out = JsonLine({{"collection", name},
                     {"folder", folder},
                     {"documents", manifest.documents},
                     {"tokens", manifest.tokens},
                     {"bytes", bytes},
                     {"one_moment", manifest.is_one_moment},
                     {"seconds", seconds},
                     {"documents_per_second", DocumentsPerSecond(manifest.documents, seconds)}});
    return {};
  }
  *out = fmt::format("{}: {} in {}\n",
                     DoneLine("exported", manifest.documents, "of collection " + name, seconds),
                     HumanBytes(bytes), folder);
  if (!manifest.is_one_moment) *out += kNotOneMoment;
  return {};
}

}  // namespace strata::admin
