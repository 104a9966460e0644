// ModelShape: which click model it is, and how large. The graph of layers that computes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "strata/initializer_spec.h"
#include "strata/model_kind.h"
#include "strata/status.h"
#include "worker/model/layer_graph.h"

namespace strata {

struct ModelShape {
  ModelKind kind = ModelKind::kLogistic;
  uint32_t embedding_dim = 0;    // elements of a slot's vector; 0 for logistic regression
  std::vector<uint32_t> hidden;  // widths of the layers before the logit
  size_t slots = 0;
  size_t dense_width = 0;
  std::vector<uint32_t> bottom = {};   // of kDlrm and kDcnV2: layers over the dense features, first
  uint32_t cross_layers = 0;           // of kDcn and kDcnV2
  uint32_t cross_rank = 0;             // of kDcnV2
  std::vector<LayerSpec> layers = {};  // of kLayers
  // Of the slots, from the first to the last. Empty: one table, whose vectors have embedding_dim.
  std::vector<GraphTable> tables = {};
  Combiner combiner = Combiner::kSum;  // of that one table; kSum where there are others
  LossKind loss = LossKind::kLogloss;

  friend bool operator==(const ModelShape&, const ModelShape&) = default;
};

// Which of the widths a model of this kind has; the others are 0 or empty.
struct ModelWidths {
  bool embedding_dim = true;
  bool hidden = true;
  bool bottom = false;
  bool cross_layers = false;
  bool cross_rank = false;
  bool layers = false;
};
ModelWidths WidthsOf(ModelKind kind);

// kInvalid for a kind that does not go with the widths.
Status ValidateModelShape(const ModelShape& shape);

// Elements of a sample's inputs to the cross layers of a kDcnV2 model.
size_t CrossWidthOf(const ModelShape& shape);

// The layers of the model; of a shape that is valid.
LayerGraph GraphOf(const ModelShape& shape);

// The tables of the model's rows, one at least.
std::vector<GraphTable> TablesOf(const ModelShape& shape);

// Says how the model's rows begin: as `asked` by the user, but those of logistic regression at 0.
InitializerSpec InitializerOf(const ModelShape& shape, const InitializerSpec& asked);

}  // namespace strata
