#include "tools/admin/tables/key_options.h"

#include <CLI/CLI.hpp>

namespace strata::admin {

void AddKeyOptions(CLI::App* command, KeyRequest* request) {
  command->add_option("COLUMN", request->column, "The feature's column")->required();
  command->add_option("TEXT", request->text,
                      "The field's text as a model sees it: without quotes of CSV");
  command->add_flag("--missing", request->missing, "The key of a missing value, instead of TEXT");
  command
      ->add_option("--kind", request->kind,
                   "The feature's kind: categorical, the default without a file, or bucketised")
      ->check(CLI::IsMember({"categorical", "bucketised"}));
  command->add_option("--job", request->job_file,
                      "A job file: it says the kind, which texts are missing, and the table");
  command->add_option("--features", request->features_file,
                      "A saved model's features-N.bin: it says the kind, and where buckets begin");
}

}  // namespace strata::admin
