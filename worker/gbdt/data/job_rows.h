// JobRows: rows of a file as a job file describes it: columns by name, categories as texts.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/file/disk.h"
#include "strata/status.h"
#include "worker/data/text/csv_reader.h"
#include "worker/gbdt/data/category_texts.h"
#include "worker/gbdt/data/column_roles.h"
#include "worker/gbdt/data/row_source.h"

namespace strata {

struct JobRowsChoice {
  const CategoryTexts* known = nullptr;  // the texts of a model's categories; null: none are yet
  // What a model or training data has; the job's features are matched with these by name, if both
  // have names. Null: the job says which features there are.
  const ExpectedFeatures* expected = nullptr;
  // False, which is to predict: labels are not read, and rows that cannot be read keep their
  // places.
  bool labels_required = true;
};

class JobRows : public RowSource {
 public:
  // kNotFound: no such file. kInvalid: columns, features or categories that do not match.
  static Result<std::unique_ptr<JobRows>> Open(Disk& disk, const std::string& path,
                                               const DataSpec& spec, const JobRowsChoice& choice);

  Status Next(SparseRows* block) override;
  Status Rewind() override;
  Status TakePart(const RowPart& part) override;
  Status FindCategories(Group* group) override;
  size_t features() const override { return names_.size(); }
  std::vector<std::string> FeatureNames() const override { return names_; }
  CategoryTexts Categories() const override { return texts_; }

 private:
  JobRows(std::unique_ptr<CsvReader> reader, std::string path, bool keeps_bad)
      : reader_(std::move(reader)), path_(std::move(path)), keeps_bad_(keeps_bad) {}
  Status ReadTexts(CategoryTextSets* found);
  Status CheckCount(size_t list, size_t texts) const;
  void NumberTexts();
  double ValueOf(size_t feature, const DataRow& row);
  // Says once that a category is no UTF-8.
  void WarnOfBytes(size_t feature, const DataRow& row);

  std::unique_ptr<CsvReader> reader_;
  const std::string path_;
  const bool keeps_bad_;  // rows that cannot be read have a place
  bool warned_ = false;   // of a category that is no UTF-8
  RowPart part_;
  size_t rows_seen_ = 0;  // of the part
  CategoryTexts texts_;
  std::vector<std::string> names_;    // of all features, as the model has them
  std::vector<uint32_t> feature_of_;  // of each of the job's features, its number
  std::vector<size_t> list_of_;  // of each feature, its place in texts_; those of numbers have none
  std::vector<std::unordered_map<std::string_view, size_t>> numbers_;  // of each of texts_
};

}  // namespace strata
