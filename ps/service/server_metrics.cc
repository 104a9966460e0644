#include "ps/service/server_metrics.h"

#include <utility>

namespace strata {

std::string ServerMetrics::Text(const Result<ServerTotals>& totals) {
  if (totals.ok()) {
    ShowServer(*totals);
    ShowTables(*totals);
    ShowCollections(*totals);
  }
  return registry_.PrometheusText() + of_tables_ + of_collections_;
}

void ServerMetrics::ShowServer(const ServerTotals& totals) {
  const LabelledMetrics server(registry_);
  server.Set("strata_server_tables", "Tables.", totals.tables.size());
  server.Set("strata_server_rows", "Rows of all tables.", totals.rows);
  server.Set("strata_server_cold_rows", "Rows that lie on disk alone (server.cold).",
             totals.cold_rows);
  server.Raise("strata_server_rejected_rows_total",
               "Rows that updates left alone, as their gradient held NaN or infinity.",
               totals.rejected_rows);
  server.Raise("strata_server_not_admitted_keys_total",
               "Keys of updates that were counted and got no row yet (server.admit_from).",
               totals.not_admitted_keys);
  if (has_gpus_) {
    for (const auto& [table, batches] : totals.passed_down) {
      const LabelledMetrics of_table = server.With("table", table);
      of_table.Raise("strata_server_passed_down_batches_total",
                     "Batches that a GPU's memory had no room for: the tier below did them. One of "
                     "a client counts once for each lane.",
                     batches);
    }
  }
  server.Set("strata_server_table_bytes", "Memory held by all tables.", totals.table_bytes);
  server.Set("strata_server_resident_bytes", "Resident memory of the process.",
             totals.memory_bytes);
  server.Set("strata_server_insecure",
             "1 when other machines can reach the server unauthenticated.", is_insecure_ ? 1 : 0);
}

// From nothing each time: one that was dropped is gone, and one of its name counts from 0.
void ServerMetrics::ShowTables(const ServerTotals& totals) {
  MetricsRegistry shown;
  for (const LaneReport::Table& table : totals.tables) {
    const LabelledMetrics series(shown, {{"table", table.spec.name}});
    series.Set("strata_table_rows", "Rows of a table.", table.stats.rows);
    series.Set("strata_table_bytes", "Memory held by a table.", table.stats.bytes);
    series.Raise("strata_table_pulled_keys_total",
                 "Keys of a table that were looked up, repeats counted.", table.stats.lookups);
    series.Raise("strata_table_pushed_keys_total",
                 "Keys that updates of a table brought, repeats counted.", table.stats.updates);
  }
  of_tables_ = shown.PrometheusText();
}

// As tables.
void ServerMetrics::ShowCollections(const ServerTotals& totals) {
  MetricsRegistry shown;
  for (const auto& [name, stats] : totals.collections) {
    const LabelledMetrics series(shown, {{"collection", name}});
    series.Set("strata_collection_documents", "Documents of a collection.", stats.documents);
    series.Set(
        "strata_collection_dead_documents",
        "Documents that were deleted or replaced, and take memory until they are merged away.",
        stats.dead);
    series.Set("strata_collection_bytes", "Memory held by a collection.", stats.bytes);
    series.Set("strata_collection_log_bytes", "Bytes of a collection's logs on disk.",
               stats.log_bytes);
    series.Set("strata_collection_segments", "Segments of a collection.", stats.segments);
    if (has_gpus_) {
      series.Set("strata_collection_gpu_segments",
                 "Segments of a collection in the memory of GPUs.", stats.gpu_segments);
      series.Set(
          "strata_collection_gpu_lacking_segments",
          "Segments that the GPUs' memory has no room for; they are searched on the CPU, or pass "
          "through it.",
          stats.gpu_lacking);
      series.Set("strata_collection_gpu_bytes",
                 "Memory of GPUs that segments of a collection take.", stats.gpu_bytes);
    }
    for (const auto& [engine, queries] :
         {std::pair("counting", stats.counted), std::pair("scanning", stats.scanned),
          std::pair("gpu_counting", stats.gpu_counted),
          std::pair("gpu_scanning", stats.gpu_scanned),
          std::pair("gpu_streamed", stats.gpu_streamed)}) {
      const LabelledMetrics of_engine = series.With("engine", engine);
      of_engine.Raise("strata_collection_engine_queries_total",
                      "Queries that an engine worked on, lane by lane; one may be several "
                      "engines'. gpu_streamed: of those, documents passed through a GPU.",
                      queries);
    }
    if (stats.copies > 0) {
      series.Set("strata_collection_copies",
                 "Copies of other servers' documents, one for each lane of them.", stats.copies);
      series.Set("strata_collection_copies_ready", "Of these, those that can be searched.",
                 stats.copies_ready);
      series.Set("strata_collection_copy_bytes", "Memory that copies take.", stats.copy_bytes);
      series.Set("strata_collection_copy_records_behind",
                 "Records that copies lack, as far as is known.", stats.copy_lacking);
      series.Set("strata_collection_copy_seconds_behind",
                 "Since the copy that is farthest behind was known to lack nothing.",
                 static_cast<double>(stats.copy_behind_ns) / kSecond);
      series.Raise("strata_collection_copies_begun_total",
                   "Times that a copy was made from the first document on.", stats.copies_begun);
    }
    series.Raise("strata_collection_queries_total", "Queries answered, once for all lanes.",
                 stats.queries);
    series.Raise("strata_collection_search_batches_total", "Batches of lanes that answered them.",
                 stats.batches);
    series.Raise("strata_collection_search_milliseconds_total", "Time that these batches took.",
                 stats.search_ns / kMillisecond);
  }
  of_collections_ = shown.PrometheusText();
}

}  // namespace strata
