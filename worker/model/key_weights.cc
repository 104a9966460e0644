#include "worker/model/key_weights.h"

namespace strata {
namespace {

// Calls visit(begin, end) for the keys of each bag of two keys or more of tables with a mean.
template <typename Visit>
void ForEachMean(const LayerGraph& graph, const Batch& batch, const Visit& visit) {
  for (size_t table = 0; table < graph.spec().tables.size(); ++table) {
    const GraphTable& its = graph.spec().tables[table];
    if (its.combiner != Combiner::kMean) continue;
    for (size_t i = 0; i < batch.samples; ++i) {
      const size_t first = i * batch.slots + graph.table_places()[table].first_slot;
      for (size_t bag = first; bag < first + its.slots; ++bag) {
        const uint32_t begin = batch.offsets[bag];
        const uint32_t end = batch.offsets[bag + 1];
        if (end - begin > 1) visit(begin, end);
      }
    }
  }
}

}  // namespace

std::span<const float> NetworkKeyWeights(const LayerGraph& graph, const Batch& batch,
                                         std::vector<float>* scratch) {
  bool is_copied = false;
  ForEachMean(graph, batch, [&](uint32_t begin, uint32_t end) {
    if (!is_copied) {
      *scratch = batch.key_weights;
      scratch->resize(batch.keys.size(), 1);
      is_copied = true;
    }
    const auto keys = static_cast<float>(end - begin);
    for (uint32_t key = begin; key < end; ++key) (*scratch)[key] /= keys;
  });
  return is_copied ? std::span<const float>(*scratch) : batch.key_weights;
}

}  // namespace strata
