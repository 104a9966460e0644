// The fields of sparse rows, which are the slots of their models. A pass over the training data
// finds which there are; a model's features keep them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "strata/status.h"
#include "worker/data/feature/data_spec.h"
#include "worker/data/feature/feature.h"
#include "worker/data/sparse/sparse_reader.h"

namespace strata {

// Fields in ascending order; the place of each is its slot. One thread at a time.
class SparseFields {
 public:
  static constexpr size_t kFieldsMax = 65'536;

  // Adds a field that may be there already. kInvalid: there would be more than kFieldsMax.
  Status Add(uint32_t field);
  // The field's slot, if it is there. Fields that are asked for in ascending order cost least.
  std::optional<size_t> SlotOf(uint32_t field);

  std::span<const uint32_t> all() const { return fields_; }

 private:
  std::vector<uint32_t> fields_;
  size_t next_ = 0;  // the slot behind the one that was found last
};

// What one pass over a rank's share of the training data finds.
struct SparseStatistics {
  uint64_t rows = 0;
  uint64_t content_hash = 0;  // sum over the rows of a hash of the line and its place in the file
  SparseFields fields;

  // Reads the rest of the reader's share. kInvalid: too many fields, or what the reader finds.
  static Result<SparseStatistics> Gather(SparseReader& reader);

  // To send to other ranks, and to add what another one has sent. kCorrupt: bytes that are no such
  // thing. kInvalid: too many fields together.
  std::vector<std::byte> Serialize() const;
  Status AddSerialized(std::span<const std::byte> bytes);
};

// The features of a model with these slots: categorical ones, in the order of the slots. A field's
// column is its number; the one slot of libsvm has the column "index".
std::vector<FittedFeature> FeaturesOfFields(SparseFormat format, const SparseFields& fields);

// The other way round. kInvalid: a model of these features was not trained with rows of the format.
Result<SparseFields> FieldsOfFeatures(SparseFormat format, std::span<const FittedFeature> features);

}  // namespace strata
