#include "worker/model/network.h"

namespace strata {
namespace {

// Where the rows of a table begin; of one table after the last, where they end.
size_t RowsBegin(const LayerGraph& graph, const UniqueKeys& unique, size_t table) {
  STRATA_CHECK(unique.begins.size() == graph.spec().tables.size() + 1);
  size_t begin = 0;
  for (size_t t = 0; t < table; ++t) begin += unique.of_table(t).size() * graph.row_dim(t);
  return begin;
}

}  // namespace

size_t RowElements(const LayerGraph& graph, const UniqueKeys& unique) {
  return RowsBegin(graph, unique, graph.spec().tables.size());
}

std::span<const float> RowsOfTable(const LayerGraph& graph, const UniqueKeys& unique, size_t table,
                                   std::span<const float> rows) {
  return rows.subspan(RowsBegin(graph, unique, table),
                      unique.of_table(table).size() * graph.row_dim(table));
}

std::span<float> RowsOfTable(const LayerGraph& graph, const UniqueKeys& unique, size_t table,
                             std::span<float> rows) {
  return rows.subspan(RowsBegin(graph, unique, table),
                      unique.of_table(table).size() * graph.row_dim(table));
}

}  // namespace strata
