#include "tools/admin/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <string_view>
#include <vector>

#include "base/cli/usage_error.h"
#include "base/settings/settings.h"
#include "tools/admin/collection/collection_options.h"
#include "tools/admin/nodes/cost_options.h"
#include "tools/admin/text/parse_whole.h"

namespace strata::admin {
namespace {

using Command = Request::Command;

// What CLI11 fills while it parses; ToRequest checks and converts it.
struct RawLine {
  Request request;
  std::string output = "table";
  std::string timeout = "3s";
  std::string watch = "2s";
  bool watch_given = false;
  std::string rank;
  std::string world;
  std::string dim;
  std::map<std::string_view, std::string> constants;  // of the optimizer, by OptimizerField::name
  std::string scale;
  std::string seed;
  std::string number;
  std::string optimizer = "sgd";
  std::string initializer = "zero";
  std::string ack = "default";
  std::string value_type = "fp32";
  std::string state_type;
  std::vector<std::string> keys;  // get, erase
  std::string one_key;            // put, push
  std::vector<std::string> values;
  std::string step;
  std::string limit;
  std::string from;
  std::string form{HalvingFormName(HalvingForm::kPairLast)};
  CostWords cost;
  CollectionWords collection;
};

constexpr uint32_t kDimMax = 1024;
constexpr int kRanksMax = 65536;

constexpr std::string_view kFooter =
    "Exit codes: 0 done; 1 the work failed, or what is stored is damaged; 2 the command line or a\n"
    "file is wrong; 3 a node is lost; 4 refused; 70 a bug.\n";

constexpr std::string_view kCollectionFooter =
    "A document is a set of tokens, whole numbers, under an id of its own: a basket of products,\n"
    "say. A search finds the documents that share the most with a query, which is a set, too:\n"
    "  strata-admin collection create baskets\n"
    "  strata-admin collection load baskets baskets.txt        a document a line: 3,17,204\n"
    "  strata-admin collection search baskets --query 3,17 -k 5\n"
    "Options of each command: strata-admin collection COMMAND --help. Those that say where "
    "servers\n"
    "are and how to answer (--server, --config, -o json, --timeout): strata-admin --help.\n"
    "Forms of files, and all else: docs/search.md.\n\n";

Result<Key> ParseKey(std::string_view text) {
  Key key = 0;
  const bool hex = text.starts_with("0x") || text.starts_with("0X");
  if (!ParseWhole(hex ? text.substr(2) : text, &key, hex ? 16 : 10)) {
    return Invalid(fmt::format(
        "KEY '{}': expected a whole number from 0 to 2^64 - 1, decimal or hexadecimal with 0x",
        text));
  }
  return key;
}

// The nearest float, which is 0 of a number that is small enough.
Result<float> ParseValue(const std::string& text) {
  if (IsDecimal(text)) {
    const float value = std::strtof(text.c_str(), nullptr);
    if (std::isfinite(value)) return value;
  }
  return Invalid(fmt::format("value '{}': expected a finite number, at most {} from 0", text,
                             std::numeric_limits<float>::max()));
}

// An option's whole number in [low, high]; "" leaves it as it is. CLI11 would name neither the
// range nor what was found in words that help.
template <typename Number>
Status ReadWhole(std::string_view option, const std::string& text, Number low, Number high,
                 Number* number) {
  if (text.empty()) return {};
  Number read = 0;
  if (!ParseWhole(text, &read) || read < low || read > high) {
    return Invalid(fmt::format("{}: expected a whole number from {} to {}, found '{}'", option, low,
                               high, text));
  }
  *number = read;
  return {};
}

Status ReadFloat(std::string_view option, const std::string& text, float* number) {
  if (text.empty()) return {};
  const Result<float> read = ParseValue(text);
  if (!read.ok()) return read.status().Prefixed(option);
  *number = *read;
  return {};
}

// "--clip-norm"
std::string OptionOf(const OptimizerField& field) {
  std::string option = fmt::format("--{}", field.name);
  std::ranges::replace(option, '_', '-');
  return option;
}

Status ReadOptimizer(const RawLine& raw, OptimizerSpec* optimizer) {
  STRATA_ASSIGN(optimizer->kind, ParseOptimizerKind(raw.optimizer));
  for (const OptimizerField& field : OptimizerFields()) {
    const std::string& text = raw.constants.at(field.name);
    STRATA_TRY(field.real != nullptr
                   ? ReadFloat(OptionOf(field), text, &(optimizer->*field.real))
                   : ReadWhole<uint64_t>(OptionOf(field), text, 0, kOptimizerStepsMax,
                                         &(optimizer->*field.steps)));
  }
  for (const OptimizerField& field : OptimizerFields()) {
    if (raw.constants.at(field.name).empty()) continue;
    if (!field.is_used(*optimizer)) {
      return Invalid(fmt::format("{}: has no effect {}: leave it out", OptionOf(field),
                                 field.WhyUnused(*optimizer)));
    }
    STRATA_TRY(field.Validate(*optimizer).Prefixed(OptionOf(field)));
  }
  return {};
}

Status ReadInitializer(const RawLine& raw, InitializerSpec* initializer) {
  STRATA_TRY(ReadFloat("--scale", raw.scale, &initializer->scale));
  STRATA_ASSIGN(initializer->kind, ParseInitializerKind(raw.initializer));
  if (raw.scale.empty() || initializer->kind != InitializerKind::kZero) return {};
  return Invalid(
      "--scale: has no effect on initializer zero (it is for uniform and normal): "
      "leave it out");
}

Status ReadStateType(const RawLine& raw, OptimizerKind optimizer, ElementType* type) {
  if (raw.state_type.empty()) return {};
  STRATA_ASSIGN(*type, ParseElementType(raw.state_type));
  if (HasState(optimizer)) return {};
  return Invalid(
      fmt::format("--state-type: has no effect {}: leave it out", WhyStateless(optimizer)));
}

Status ReadSpec(const RawLine& raw, TableSpec* spec) {
  spec->name = raw.request.table;
  STRATA_TRY(ReadWhole("--dim", raw.dim, 1U, kDimMax, &spec->dim));
  STRATA_TRY(ReadOptimizer(raw, &spec->optimizer));
  STRATA_TRY(ReadInitializer(raw, &spec->initializer));
  STRATA_TRY(ReadWhole<uint64_t>("--seed", raw.seed, 0, UINT64_MAX, &spec->seed));
  STRATA_ASSIGN(spec->ack, ParseAckLevel(raw.ack));
  STRATA_ASSIGN(spec->value_type, ParseElementType(raw.value_type));
  STRATA_TRY(ReadStateType(raw, spec->optimizer.kind, &spec->state_type));
  return ValidateTableSpec(*spec);
}

// "1:4096", as a scan names the place where the next one goes on.
Status ReadFrom(const std::string& text, ScanRequest* scan) {
  if (text.empty()) return {};
  const size_t colon = text.find(':');
  if (colon != std::string::npos &&
      ParseWhole(std::string_view(text).substr(0, colon), &scan->lane) &&
      ParseWhole(std::string_view(text).substr(colon + 1), &scan->cursor)) {
    return {};
  }
  return Invalid(fmt::format(
      "--from: expected the place that a scan named as the next one, such as 1:4096, found '{}'",
      text));
}

Status ReadRowOptions(const RawLine& raw, Request* request) {
  std::vector<std::string> keys = raw.keys;
  if (!raw.one_key.empty()) keys.push_back(raw.one_key);
  for (const std::string& text : keys) {
    STRATA_ASSIGN(const Key key, ParseKey(text));
    request->keys.push_back(key);
  }
  for (const std::string& text : raw.values) {
    STRATA_ASSIGN(const float value, ParseValue(text));
    request->values.push_back(value);
  }
  STRATA_TRY(ReadWhole<uint64_t>("--step", raw.step, 1, kOptimizerStepsMax, &request->step));
  STRATA_TRY(ReadWhole<uint64_t>("--limit", raw.limit, 1, UINT64_MAX, &request->scan.limit));
  return ReadFrom(raw.from, &request->scan);
}

Result<Request> ToRequest(const RawLine& raw) {
  Request request = raw.request;
  request.output = raw.output == "json" ? Request::Output::kJson : Request::Output::kTable;
  if (!request.config_file.empty() && !request.server.empty()) {
    return Invalid("--config and --server exclude each other: a file, or one server's address");
  }
  const Result<TimeNs> timeout = ParseDuration(raw.timeout);
  if (!timeout.ok()) return timeout.status().Prefixed("--timeout");
  if (*timeout <= 0) {
    return Invalid(fmt::format("--timeout: expected more than 0, found '{}'", raw.timeout));
  }
  request.timeout = *timeout;
  if (raw.watch_given) {
    const Result<TimeNs> interval = ParseDuration(raw.watch);
    if (!interval.ok()) return interval.status().Prefixed("--watch");
    if (*interval < 100 * kMillisecond) {
      return Invalid(fmt::format("--watch: expected 100ms or more, found '{}'", raw.watch));
    }
    request.watch_interval = *interval;
  }
  STRATA_TRY(ReadRowOptions(raw, &request));
  STRATA_TRY(ReadWhole("--rank", raw.rank, 0, kRanksMax - 1, &request.only_server));
  STRATA_TRY(ReadWhole("-n", raw.world, 1, kRanksMax, &request.world));
  STRATA_TRY(ReadWhole("N", raw.number, 1U, UINT32_MAX, &request.number));
  if (request.command == Command::kTableCreate) STRATA_TRY(ReadSpec(raw, &request.spec));
  STRATA_TRY(ReadCollectionOptions(raw.collection, &request.collection));
  const bool fold_first =
      raw.form == HalvingFormName(HalvingForm::kFoldFirst) || raw.form == "virtual";
  if (request.command == Command::kTopologyCost) {
    STRATA_ASSIGN(request.cost, ReadCostOptions(raw.cost));
  }
  request.form = fold_first ? HalvingForm::kFoldFirst : HalvingForm::kPairLast;
  return request;
}

CLI::App* AddCommand(CLI::App* parent, const std::string& name, const std::string& help,
                     Command command, RawLine* raw) {
  CLI::App* added = parent->add_subcommand(name, help);
  added->fallthrough();
  if (parent->get_parent() != nullptr) parent->require_subcommand(1);
  added->callback([raw, command] { raw->request.command = command; });
  return added;
}

// A command below one that also goes alone: CLI11 calls the outer one's callback last.
CLI::App* AddInnerCommand(CLI::App* outer, const std::string& name, const std::string& help,
                          Command inner_command, Command outer_command, RawLine* raw) {
  CLI::App* inner = AddCommand(outer, name, help, inner_command, raw);
  outer->require_subcommand(0, 1);
  outer->callback([raw, inner, inner_command, outer_command] {
    raw->request.command = inner->parsed() ? inner_command : outer_command;
  });
  return inner;
}

void AddWatch(CLI::App* command, RawLine* raw) {
  command
      ->add_option_function<std::string>(
          "--watch",
          [raw](const std::string& interval) {
            raw->watch_given = true;
            if (!interval.empty()) raw->watch = interval;
          },
          "Show again every 2s, or as often as --watch=INTERVAL says, until interrupted")
      ->expected(0, 1)
      ->default_str("");
}

void AddConstants(CLI::App* create, RawLine* raw) {
  for (const OptimizerField& field : OptimizerFields()) {
    create
        ->add_option(OptionOf(field), raw->constants[field.name],
                     fmt::format("Of {}", field.Users()))
        ->group("Constants of the optimizer (docs/configuration.md, Optimizers)")
        ->default_str(field.TextIn(raw->request.spec.optimizer));
  }
}

void AddRowCommands(CLI::App* app, RawLine* raw) {
  Request& request = raw->request;
  const auto add = [&](const std::string& name, const std::string& help, Command command) {
    CLI::App* added = AddCommand(app, name, help, command, raw);
    added->add_option("TABLE", request.table, "The table")->required();
    return added;
  };
  const std::string keys = "Keys, decimal or 0x...";
  const std::string key = "The key, decimal or 0x...";

  add("get", "Rows of a table, and whether they exist", Command::kGet)
      ->add_option("KEY", raw->keys, keys)
      ->required();

  CLI::App* scan = add("scan", "All rows of a table, in no order", Command::kScan);
  scan->add_option("--limit", raw->limit, "At most so many rows; without it all");
  scan->add_option("--from", raw->from, "Where an earlier scan ended, as it says");
  scan->add_flag("--state", request.scan.with_state, "The optimizer's state and counters, too");

  CLI::App* put = add("put", "Set a row's values", Command::kPut);
  put->add_option("KEY", raw->one_key, key)->required();
  put->add_option("VALUE", raw->values, "As many values as the table's dimension")->required();

  CLI::App* push = add("push", "Run the table's optimizer once on a row", Command::kPush);
  push->add_option("KEY", raw->one_key, key)->required();
  push->add_option("GRADIENT", raw->values,
                   "As many numbers as the table's dimension, or one for all")
      ->required();
  push->add_option("--step", raw->step,
                   "The optimizer's time, from 1. Tables of Adam, or with a schedule, need it; "
                   "others take 1 without it");

  add("erase",
      "Erase rows of a table: they begin anew when they are used again, and missing ones are no "
      "error",
      Command::kErase)
      ->add_option("KEY", raw->keys, keys)
      ->required();
}

void AddTableCommands(CLI::App* app, RawLine* raw) {
  Request& request = raw->request;
  AddCommand(app, "tables",
             "The tables with their definitions; rows whose time is up may still count",
             Command::kTables, raw);

  CLI::App* table = app->add_subcommand("table", "Create or drop a table");
  table->fallthrough()->require_subcommand(1);
  CLI::App* create =
      AddCommand(table, "create", "Create a table on all servers", Command::kTableCreate, raw);
  create->add_option("NAME", request.table, "1 to 128 of A-Z a-z 0-9 _ . -")->required();
  create->add_option("--dim", raw->dim, fmt::format("Elements of a row, 1 to {}", kDimMax))
      ->required();
  create->add_option("--optimizer", raw->optimizer, OptimizerNames())->capture_default_str();
  AddConstants(create, raw);
  create
      ->add_option("--initializer", raw->initializer, "A new row's values: zero, uniform or normal")
      ->capture_default_str();
  create->add_option("--scale", raw->scale, "uniform: in [-scale, scale); normal: the deviation")
      ->default_str(fmt::to_string(request.spec.initializer.scale));
  create
      ->add_option("--ack", raw->ack,
                   "When a write is acknowledged: applied, logged, synced, or default: logged on "
                   "servers with a data folder")
      ->capture_default_str();
  create->add_option("--value-type", raw->value_type, "Rows are stored as fp32, bf16 or fp16")
      ->capture_default_str();
  create
      ->add_option("--state-type", raw->state_type,
                   "The optimizer's state, of those that have one, is stored as fp32, bf16 or fp16")
      ->default_str(std::string(ElementTypeName(request.spec.state_type)));
  create->add_option("--seed", raw->seed, "Of the initial values")
      ->default_str(fmt::to_string(request.spec.seed));

  CLI::App* drop =
      AddCommand(table, "drop", "Drop a table with all its rows", Command::kTableDrop, raw);
  drop->add_option("NAME", request.table, "The table")->required();
  drop->add_flag("--yes", request.yes, "Really drop it");

  AddKeyOptions(
      AddCommand(app, "key", "The key of a feature's text in a model's table, without a server",
                 Command::kKey, raw),
      &request.key);

  AddRowCommands(app, raw);
}

void AddCheckpointCommands(CLI::App* app, RawLine* raw) {
  Request& request = raw->request;
  CLI::App* checkpoint =
      AddCommand(app, "checkpoint", "Take a checkpoint of all tables, or list them",
                 Command::kCheckpoint, raw);
  checkpoint->add_flag("--full", request.full,
                       "All rows, not only those that changed (every eighth holds them anyhow)");
  AddInnerCommand(checkpoint, "list", "The checkpoints that there are, newest first",
                  Command::kCheckpointList, Command::kCheckpoint, raw);

  CLI::App* restore =
      AddCommand(app, "restore", "Put all tables back to a checkpoint", Command::kRestore, raw);
  restore->add_option("N", raw->number, "The checkpoint's number")->required();
  restore->add_flag("--yes", request.yes, "Really replace the tables that there are");

  const std::string where = "A folder of checkpoints, or one of them";
  CLI::App* verify = AddCommand(app, "verify", "Read every byte of checkpoints, without a server",
                                Command::kVerify, raw);
  verify->add_option("DIR", request.file, where)->required();

  CLI::App* exported = AddCommand(
      app, "export", "Write a table of a checkpoint for other programs, without a server",
      Command::kExport, raw);
  exported->add_option("DIR", request.file, where + "; of several the newest")->required();
  exported->add_option("--table", request.table, "The table")->required();
  exported
      ->add_option("--format", request.export_format,
                   "safetensors, npy, or hugectr (key and emb_vector files)")
      ->check(CLI::IsMember({"safetensors", "npy", "hugectr"}))
      ->required();
  exported->add_option("--to", request.export_folder, "Folder for the files")->required();
}

// An option that takes one word each time that it is given: CLI11's "..." would promise more.
void AddRepeated(CLI::App* command, const char* name, std::vector<std::string>* words,
                 const char* type, const char* what) {
  command->add_option(name, *words, what)
      ->type_name(type)
      ->option_text(type)
      ->allow_extra_args(false);
}

void AddSearchOptions(CLI::App* command, RawLine* raw) {
  CollectionRequest& request = raw->request.collection;
  CollectionWords& words = raw->collection;
  command->add_option("NAME", request.name, "The collection")->required();
  AddRepeated(command, "--query", &words.queries, "TOKENS",
              "With commas between them, such as 3,17,204; may be repeated");
  AddRepeated(command, "--like", &words.like, "ID",
              "A stored document as the query, itself not in the answer; may be repeated");
  command
      ->add_option("--queries", request.file,
                   "Queries of a file: one a line; a folder with one a file; .npy with one a row; "
                   "a folder that export wrote")
      ->type_name("FILE");
  command
      ->add_option("--offsets", request.offsets,
                   "Where queries begin in --queries, and the last one ends: both .npy of one "
                   "dimension")
      ->type_name("FILE");
  command
      ->add_option(
          "--metric", words.metric,
          MetricNames() +
              ". With c tokens in common they are: c; c / the longer set's tokens; c / the "
              "tokens of either; 2 c / both lengths; c / the root of both lengths "
              "multiplied; c / the query's tokens; c / the document's")
      ->type_name("METRIC")
      ->capture_default_str();
  command->add_option("-k", words.k, "Best documents of each query, 1 to 1000000 (default 100)")
      ->type_name("N");
  command
      ->add_option(
          "--threshold", words.threshold,
          "Only documents of this score or more: all of them, unless -k is given. Scores "
          "are above 0 and end at 1, those of overlap are whole numbers and end at 1048576")
      ->type_name("SCORE");
  AddRepeated(
      command, "--where", &words.where, "RANGE",
      "NAME:NUMBER or NAME:LOW..HIGH: only documents with such an attribute; may be repeated: all "
      "must hold");
}

void AddCollectionSearch(CLI::App* collection, RawLine* raw) {
  CollectionRequest& request = raw->request.collection;
  CLI::App* search = AddCommand(collection, "search", "The documents that are most like each query",
                                Command::kCollectionSearch, raw);
  CLI::App* explain =
      AddCommand(collection, "explain",
                 "Search, and show lane by lane what was chosen and expected, and what it took",
                 Command::kCollectionExplain, raw);
  for (CLI::App* command : {search, explain}) AddSearchOptions(command, raw);
  search
      ->add_option("--to", request.to,
                   "File for the answers: milliseconds, then a line of ids for each query; - is "
                   "standard output")
      ->type_name("FILE");
}

void AddAck(CLI::App* command, CollectionWords* words) {
  command
      ->add_option("--ack", words->ack,
                   "When a change is done: applied, logged (survives kill -9), synced (a loss of "
                   "power, too), or default: logged on servers with a data folder")
      ->type_name("LEVEL")
      ->capture_default_str();
}

void AddCollectionDocuments(CLI::App* collection, RawLine* raw) {
  CollectionRequest& request = raw->request.collection;
  CollectionWords& words = raw->collection;
  CLI::App* get = AddCommand(collection, "get", "Documents by their ids: attributes and tokens",
                             Command::kCollectionGet, raw);
  CLI::App* gone = AddCommand(
      collection, "delete", "Delete documents by their ids; those that there are not are no error",
      Command::kCollectionDelete, raw);
  for (CLI::App* command : {get, gone}) {
    command->add_option("NAME", request.name, "The collection")->required();
    command->add_option("ID", words.ids, "Ids of documents");
    command
        ->add_option("--ids", request.ids_file,
                     "File of ids, one a line or with commas or blanks between them, or .npy")
        ->type_name("FILE");
  }
  AddAck(gone, &words);
}

void AddCollectionCommands(CLI::App* app, RawLine* raw) {
  CollectionRequest& request = raw->request.collection;
  CollectionWords& words = raw->collection;
  CLI::App* collection =
      app->add_subcommand("collection", "Item sets that are searched by what they share");
  collection->fallthrough()->require_subcommand(1);
  CLI::App* create = AddCommand(collection, "create", "Create a collection on all servers",
                                Command::kCollectionCreate, raw);
  create->add_option("NAME", request.name, "1 to 128 of A-Z a-z 0-9 _ . -")->required();
  AddRepeated(create, "--attribute", &request.attributes, "NAME",
              "Name of a whole number that each document has, for --where of searches; may be "
              "repeated");
  create
      ->add_option(
          "--copies", words.copies,
          "How many servers have each document; with more than one a search is answered by "
          "fewer servers, in turn")
      ->type_name("N")
      ->capture_default_str();

  CLI::App* load = AddCommand(collection, "load", "Put documents of a file into a collection",
                              Command::kCollectionLoad, raw);
  load->add_option("NAME", request.name, "The collection")->required();
  load->add_option("FILE", request.file,
                   "Documents: one a line, tokens with commas between them; a folder with one a "
                   "file; .npy with one a row; a folder that export wrote")
      ->required();
  load->add_option("--offsets", request.offsets,
                   "Where documents begin in FILE, and the last one ends: both .npy of one "
                   "dimension")
      ->type_name("FILE");
  load->add_option("--attributes", request.attributes_file,
                   ".npy with a row for each document, its attributes as create named them")
      ->type_name("FILE");
  load->add_option("--first-id", words.first_id, "Id of the first document; the others follow")
      ->type_name("ID")
      ->default_str("0");
  load->add_option("--ids", request.ids_file,
                   "Instead of --first-id, a file with an id for each document, each once: one a "
                   "line, or .npy")
      ->type_name("FILE");
  AddAck(load, &words);

  CLI::App* exported = AddCommand(collection, "export",
                                  "Write all documents to a folder that load takes, on any cluster",
                                  Command::kCollectionExport, raw);
  exported->add_option("NAME", request.name, "The collection")->required();
  exported->add_option("FOLDER", request.to, "A new or an empty folder")->required();

  CLI::App* drop = AddCommand(collection, "drop", "Drop a collection with all its documents",
                              Command::kCollectionDrop, raw);
  drop->add_option("NAME", request.name, "The collection")->required();
  drop->add_flag("--yes", raw->request.yes, "Really drop it");
  CLI::App* stats = AddCommand(collection, "stats", "Documents, memory and searches of collections",
                               Command::kCollectionStats, raw);
  stats->add_option("NAME", request.name, "Only this collection");
  AddCollectionDocuments(collection, raw);
  AddCollectionSearch(collection, raw);
  collection->footer(std::string(kCollectionFooter) + std::string(kFooter));  // of itself alone
}

void AddCostCommand(CLI::App* topology, RawLine* raw) {
  CostWords& words = raw->cost;
  CLI::App* cost =
      AddInnerCommand(topology, "cost",
                      "What each collective would cost, simulated, and which algorithm is fastest",
                      Command::kTopologyCost, Command::kTopology, raw);
  cost->add_option("--operation", words.operation, "Only this one, such as allreduce");
  cost->add_option("--bytes", words.bytes, "Sizes of the whole vector, such as 8,64KiB")
      ->delimiter(',')
      ->capture_default_str();
  cost->add_option("--alpha", words.alpha, "A message's latency")->capture_default_str();
  cost->add_option("--beta", words.beta, "ns for a byte sent; 0.8 is 10 Gbit/s")
      ->capture_default_str();
  cost->add_option("--gamma", words.gamma, "ns for a byte reduced")->capture_default_str();
  cost->add_option("--late", words.late, "RANK:DURATION: a rank that begins late")->delimiter(',');
  cost->add_option("--slow-rank", words.slow_ranks,
                   "RANK:FACTOR: its messages and its reducing take so many times as long")
      ->delimiter(',');
  cost->add_option("--slow-link", words.slow_links, "A-B:FACTOR: messages between two ranks do")
      ->delimiter(',');
}

void AddClusterCommands(CLI::App* app, RawLine* raw) {
  Request& request = raw->request;
  CLI::App* status =
      AddCommand(app, "status", "Every node of the cluster, up or down", Command::kStatus, raw);
  status->add_option("--rendezvous", request.rendezvous,
                     "host:port where workers met that no machine list has; worker 0 names the "
                     "others (default: worker.rendezvous of --config)");
  status->add_flag("--expect-workers", request.expect_workers,
                   "Exit code 3 also when no worker runs, as between two jobs");
  AddWatch(status, raw);
  CLI::App* stats = AddCommand(app, "stats", "Rows, memory, traffic and tiers of the tables",
                               Command::kStats, raw);
  stats->add_option("TABLE", request.table, "Only this table");
  AddWatch(stats, raw);
  AddCommand(app, "ping", "Time an answer from each server", Command::kPing, raw);
  CLI::App* drain = AddCommand(app, "drain", "Make servers refuse new writes and finish the others",
                               Command::kDrain, raw);
  drain->add_option("--rank", raw->rank, "Only the server of this rank");
  CLI::App* shutdown =
      AddCommand(app, "shutdown", "Drain all servers and end them", Command::kShutdown, raw);
  shutdown->add_flag("--yes", request.yes, "Really end them");

  CLI::App* clients = AddCommand(app, "clients", "Clients whose writes each lane remembers",
                                 Command::kClients, raw);
  CLI::App* evict = AddInnerCommand(
      clients, "evict", "Free a client's place; one that still runs is answered SESSION_EXPIRED",
      Command::kClientsEvict, Command::kClients, raw);
  evict->add_option("ID", request.client, "As clients shows it: 32 hexadecimal digits")->required();

  CLI::App* topology =
      AddCommand(app, "topology", "The Bruck and recursive-halving maps", Command::kTopology, raw);
  topology->add_option("-n,--world", raw->world,
                       "Ranks; without it the workers of the machine list");
  topology
      ->add_option("--form", raw->form,
                   "Pairing when -n is no power of two: pair-last (LightGBM's) or fold-first (the "
                   "founding form, with virtual ranks); lightgbm and virtual name the same")
      ->check(CLI::IsMember({"pair-last", "fold-first", "lightgbm", "virtual"}))
      ->capture_default_str();
  AddCostCommand(topology, raw);

  CLI::App* config = app->add_subcommand("config", "Work on cluster.toml");
  config->fallthrough()->require_subcommand(1);
  CLI::App* check = AddCommand(config, "check", "Report every problem of a cluster.toml",
                               Command::kConfigCheck, raw);
  check->add_option("FILE", request.file, "A cluster.toml, or a machine list")->required();
}

void AddGlobalOptions(CLI::App* app, RawLine* raw) {
  app->add_option("-c,--config", raw->request.config_file,
                  "cluster.toml; without it one server on this machine");
  app->add_option("--server", raw->request.server,
                  fmt::format("Only this server, host:port (default {})", kDefaultServer));
  app->add_option("-o,--output", raw->output, "table or json")
      ->check(CLI::IsMember({"table", "json"}))
      ->capture_default_str();
  app->add_option("--timeout", raw->timeout, "For a node's answer, such as 500ms or 5s")
      ->capture_default_str();
}

// Of those that have a place and no option.
Status CheckNoEmptyArgument(const CLI::App& app) {
  for (const CLI::App* at : app.get_subcommands()) {
    for (const CLI::Option* option : at->get_options()) {
      if (!option->get_positional()) continue;
      if (std::ranges::find(option->results(), "") == option->results().end()) continue;
      return Invalid(fmt::format("{}: expected a value, found an empty one", option->get_name()));
    }
    STRATA_TRY(CheckNoEmptyArgument(*at));
  }
  return {};
}

}  // namespace

Result<ParsedLine> ParseAdminLine(int argc, const char* const* argv) {
  STRATA_TRY(CheckNoEmptyValue({argv, static_cast<size_t>(argc)}));
  RawLine raw;
  CLI::App app("Shows and steers a Strata cluster.", "strata-admin");
  app.footer(std::string(kFooter));
  app.set_version_flag("--version", "strata-admin " STRATA_VERSION);
  app.require_subcommand(1);
  app.get_formatter()->column_width(34);
  AddGlobalOptions(&app, &raw);
  AddClusterCommands(&app, &raw);
  AddTableCommands(&app, &raw);
  AddCheckpointCommands(&app, &raw);
  AddCollectionCommands(&app, &raw);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return ParsedLine{.request = {}, .text = app.help("", CLI::AppFormatMode::Normal)};
  } catch (const CLI::CallForVersion& version) {
    return ParsedLine{.request = {}, .text = std::string(version.what()) + "\n"};
  } catch (const CLI::ParseError& error) {
    return UsageError(app, error);
  }
  STRATA_TRY(CheckNoEmptyArgument(app));
  STRATA_ASSIGN(Request request, ToRequest(raw));
  return ParsedLine{.request = std::move(request), .text = {}};
}

}  // namespace strata::admin
