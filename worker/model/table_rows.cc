#include "worker/model/network.h"

namespace strata {

size_t RowElements(const LayerGraph& graph, const UniqueKeys& unique) {
  const size_t tables = graph.spec().tables.size();
  return tables == 0 ? 0 : RangeOfTable(graph, unique, tables - 1).end();
}

ParameterRange RangeOfTable(const LayerGraph& graph, const UniqueKeys& unique, size_t table) {
  STRATA_CHECK(unique.begins.size() == graph.spec().tables.size() + 1);
  ParameterRange range;
  for (size_t t = 0; t <= table; ++t) {
    range = {range.end(), unique.of_table(t).size() * graph.row_dim(t)};
  }
  return range;
}

std::shared_ptr<float[]> Network::TakeMemory(size_t count) {
  return std::make_shared_for_overwrite<float[]>(count);
}

}  // namespace strata
