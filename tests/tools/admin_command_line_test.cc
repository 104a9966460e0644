#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "storage/optimizer_fields.h"
#include "tools/admin/command_line.h"

namespace strata::admin {
namespace {

using Command = Request::Command;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

Result<ParsedLine> Parse(std::vector<const char*> words) {
  words.insert(words.begin(), "strata-admin");
  return ParseAdminLine(static_cast<int>(words.size()), words.data());
}

Request Parsed(std::vector<const char*> words) {
  const Result<ParsedLine> line = Parse(std::move(words));
  EXPECT_TRUE(line.ok()) << line.status().ToString();
  if (!line.ok() || !line->request) return {};
  return *line->request;
}

TEST(AdminCommandLine, EveryCommandIsKnown) {
  const std::vector<std::pair<std::vector<const char*>, Command>> cases = {
      {{"status"}, Command::kStatus},
      {{"stats"}, Command::kStats},
      {{"tables"}, Command::kTables},
      {{"table", "create", "t", "--dim", "4"}, Command::kTableCreate},
      {{"table", "drop", "t"}, Command::kTableDrop},
      {{"get", "t", "1"}, Command::kGet},
      {{"key", "city", "Rome"}, Command::kKey},
      {{"put", "t", "1", "0.5"}, Command::kPut},
      {{"push", "t", "1", "0.5"}, Command::kPush},
      {{"scan", "t"}, Command::kScan},
      {{"erase", "t", "1"}, Command::kErase},
      {{"topology", "-n", "6"}, Command::kTopology},
      {{"topology", "cost", "-n", "6"}, Command::kTopologyCost},
      {{"config", "check", "cluster.toml"}, Command::kConfigCheck},
      {{"ping"}, Command::kPing},
      {{"drain"}, Command::kDrain},
      {{"shutdown"}, Command::kShutdown},
      {{"clients"}, Command::kClients},
      {{"clients", "evict", "00"}, Command::kClientsEvict},
      {{"checkpoint"}, Command::kCheckpoint},
      {{"checkpoint", "list"}, Command::kCheckpointList},
      {{"restore", "7"}, Command::kRestore},
      {{"verify", "checkpoints"}, Command::kVerify},
      {{"export", "checkpoints", "--table=t", "--format=npy", "--to=out"}, Command::kExport},
      {{"collection", "create", "c"}, Command::kCollectionCreate},
      {{"collection", "load", "c", "docs.txt"}, Command::kCollectionLoad},
      {{"collection", "export", "c", "folder"}, Command::kCollectionExport},
      {{"collection", "drop", "c"}, Command::kCollectionDrop},
      {{"collection", "stats"}, Command::kCollectionStats},
      {{"collection", "search", "c", "--query=1"}, Command::kCollectionSearch},
      {{"collection", "explain", "c", "--query=1"}, Command::kCollectionExplain},
      {{"collection", "get", "c", "1"}, Command::kCollectionGet},
      {{"collection", "delete", "c", "1"}, Command::kCollectionDelete},
  };
  for (const auto& [words, command] : cases) EXPECT_EQ(Parsed(words).command, command) << words[0];
}

TEST(AdminCommandLine, GlobalOptionsStandBeforeOrBehindTheCommand) {
  for (const Request& request :
       {Parsed({"-o", "json", "-c", "cluster.toml", "--timeout", "250ms", "status"}),
        Parsed({"status", "-o", "json", "--config=cluster.toml", "--timeout=250ms"})}) {
    EXPECT_EQ(request.output, Request::Output::kJson);
    EXPECT_EQ(request.config_file, "cluster.toml");
    EXPECT_EQ(request.timeout, 250 * kMillisecond);
  }
  EXPECT_EQ(Parsed({"table", "drop", "t", "--server", "h:1", "--yes"}).server, "h:1");
}

TEST(AdminCommandLine, WatchTakesAnOptionalInterval) {
  EXPECT_EQ(Parsed({"status"}).watch_interval, 0);
  EXPECT_EQ(Parsed({"status", "--watch"}).watch_interval, 2 * kSecond);
  EXPECT_EQ(Parsed({"stats", "--watch=500ms"}).watch_interval, 500 * kMillisecond);
  EXPECT_EQ(Parsed({"stats", "t", "--watch"}).table, "t");
}

TEST(AdminCommandLine, TableCreateFillsTheSpec) {
  const Request request =
      Parsed({"table", "create", "user.v1", "--dim=16", "--optimizer=adam", "--learning-rate=0.25",
              "--initializer=uniform", "--scale=0.5", "--ack=synced", "--seed=18446744073709551615",
              "--value-type=bf16", "--state-type=fp16"});
  EXPECT_EQ(request.spec.name, "user.v1");
  EXPECT_EQ(request.spec.dim, 16U);
  EXPECT_EQ(request.spec.optimizer.kind, OptimizerKind::kAdam);
  EXPECT_EQ(request.spec.optimizer.learning_rate, 0.25F);
  EXPECT_EQ(request.spec.initializer.kind, InitializerKind::kUniform);
  EXPECT_EQ(request.spec.initializer.scale, 0.5F);
  EXPECT_EQ(request.spec.ack, AckLevel::kSynced);
  EXPECT_EQ(request.spec.seed, UINT64_MAX);
  EXPECT_EQ(request.spec.value_type, ElementType::kBf16);
  EXPECT_EQ(request.spec.state_type, ElementType::kFp16);
}

// Each constant by its own option, just beside its default.
TEST(AdminCommandLine, TableCreateSetsEveryConstantOfTheOptimizer) {
  for (const OptimizerField& field : OptimizerFields()) {
    for (const OptimizerName& optimizer : Optimizers()) {
      if (!field.IsFor(optimizer.kind)) continue;
      OptimizerSpec expected{.kind = optimizer.kind, .decay_steps = 9, .end_learning_rate = 1e-6F};
      if (field.real != nullptr) {
        expected.*field.real = std::nextafter(expected.*field.real, 0.5F);
      } else {
        expected.*field.steps += 1;
      }
      if (field.name == "warmup_steps") expected.decay_start = 1;
      std::vector<std::string> words = {"table", "create", "t", "--dim=2",
                                        fmt::format("--optimizer={}", optimizer.name)};
      for (const OptimizerField& set : OptimizerFields()) {
        if (set.TextIn(expected) == set.TextIn({})) continue;
        std::string option(set.name);
        std::ranges::replace(option, '_', '-');
        words.push_back(fmt::format("--{}={}", option, set.TextIn(expected)));
      }
      std::vector<const char*> line;
      for (const std::string& word : words) line.push_back(word.c_str());
      const OptimizerSpec found = Parsed(line).spec.optimizer;
      EXPECT_TRUE(found == expected) << field.name << " of " << optimizer.name;
      EXPECT_NE(field.TextIn(found), field.TextIn({})) << field.name;
    }
  }
}

TEST(AdminCommandLine, AConstantThatTheOptimizerDoesNotUseIsRefused) {
  const std::vector<std::pair<std::vector<const char*>, std::string>> cases = {
      {{"--momentum=0.9"},
       "--momentum: has no effect on optimizer sgd (it is for momentum and nesterov): leave it"},
      {{"--optimizer=ftrl", "--epsilon=1e-7"},
       "--epsilon: has no effect on optimizer ftrl (it is for adagrad, rowwise_adagrad, rmsprop, "
       "adam and lazy_adam): leave it out"},
      {{"--optimizer=adam", "--beta=1"}, "optimizer adam (it is for ftrl)"},
      {{"--decay-power=1"}, "--decay-power: has no effect without decay_steps: leave it out"},
      {{"--scale=0.5"},
       "--scale: has no effect on initializer zero (it is for uniform and normal)"},
      {{"--state-type=fp16"},
       "--state-type: has no effect on optimizer sgd (it is for momentum, nesterov, adagrad, "
       "rowwise_adagrad, rmsprop, adam, lazy_adam and ftrl): leave it out"},
      {{"--state-type=fp32"}, "--state-type: has no effect on optimizer sgd"},
      {{"--optimizer=adam", "--state-type=fp8"}, "element type 'fp8': expected fp32"},
  };
  for (const auto& [options, part] : cases) {
    std::vector<const char*> words = {"table", "create", "t", "--dim=2"};
    words.insert(words.end(), options.begin(), options.end());
    const Result<ParsedLine> line = Parse(words);
    ASSERT_FALSE(line.ok()) << part;
    EXPECT_EQ(ExitCode(line.status()), 2) << part;
    EXPECT_THAT(line.status().message(), HasSubstr(part));
  }
}

TEST(AdminCommandLine, KeysAndValues) {
  EXPECT_THAT(Parsed({"get", "t", "0", "18446744073709551615", "0xff"}).keys,
              ElementsAre(0, UINT64_MAX, 255));
  const Request put = Parsed({"put", "t", "7", "-0.5", "1e-3", "2"});
  EXPECT_THAT(put.keys, ElementsAre(7));
  EXPECT_THAT(put.values, ElementsAre(-0.5F, 1e-3F, 2.0F));
}

TEST(AdminCommandLine, TopologyForms) {
  EXPECT_EQ(Parsed({"topology"}).form, HalvingForm::kPairLast);
  EXPECT_EQ(Parsed({"topology", "--form=lightgbm"}).form, HalvingForm::kPairLast);
  EXPECT_EQ(Parsed({"topology", "--form=virtual"}).form, HalvingForm::kFoldFirst);
  EXPECT_EQ(Parsed({"topology", "--form=fold-first"}).form, HalvingForm::kFoldFirst);
}

TEST(AdminCommandLine, TopologyCostFillsTheModel) {
  const CostRequest cost =
      Parsed({"topology", "cost", "-n", "9", "--bytes=1MiB,8", "--operation=reduce-scatter",
              "--alpha=5us", "--beta=0.5", "--gamma", "0", "--late=3:10ms,4:1s",
              "--slow-rank=3:2.5", "--slow-link=0-7:10"})
          .cost;
  EXPECT_THAT(cost.bytes, ElementsAre(8, 1 << 20));
  EXPECT_EQ(cost.operation, Collective::kReduceScatter);
  EXPECT_DOUBLE_EQ(cost.model.alpha_s, 5e-6);
  EXPECT_DOUBLE_EQ(cost.model.beta_s, 5e-10);
  EXPECT_EQ(cost.model.gamma_s, 0);
  ASSERT_EQ(cost.model.stragglers.size(), 3U);
  EXPECT_EQ(cost.model.stragglers[1].rank, 4);
  EXPECT_DOUBLE_EQ(cost.model.stragglers[1].delay_s, 1);
  EXPECT_EQ(cost.model.stragglers[2].slowdown, 2.5);
  ASSERT_EQ(cost.model.slow_links.size(), 1U);
  EXPECT_EQ(cost.model.slow_links[0].b, 7);
  EXPECT_EQ(cost.model.slow_links[0].slowdown, 10);
}

TEST(AdminCommandLine, AValueIsTheNearestFloat) {
  const auto value = [](const char* text) {
    const auto line = Parse({"put", "t", "1", text});
    EXPECT_TRUE(line.ok()) << text << ": " << line.status().ToString();
    return line.ok() ? line->request->values.at(0) : -1.0F;
  };
  EXPECT_EQ(value("1e-50"), 0.0F);
  EXPECT_EQ(value("-1e-400"), 0.0F);
  EXPECT_EQ(value("1e-45"), std::numeric_limits<float>::denorm_min());
  EXPECT_EQ(value("0.1"), 0.1F);
  for (const char* text : {"1e39", "-1e400", "inf", "nan", "0x1p3", "1e-50x", " 1"}) {
    EXPECT_FALSE(Parse({"put", "t", "1", text}).ok()) << text;
  }
}

TEST(AdminCommandLine, APushHasAKeyItsGradientAndAStep) {
  const Request push = Parsed({"push", "t", "0x10", "-0.5", "2", "--step=12"});
  EXPECT_THAT(push.keys, ElementsAre(16));
  EXPECT_THAT(push.values, ElementsAre(-0.5F, 2.0F));
  EXPECT_EQ(push.step, 12U);
  EXPECT_EQ(Parsed({"push", "t", "1", "1"}).step, 0U) << "not given";
}

TEST(AdminCommandLine, AScanGoesOnFromThePlaceThatItsLastOneNamed) {
  const Request scan =
      Parsed({"scan", "t", "--limit=10", "--from=3:18446744073709551615", "--state"});
  EXPECT_EQ(scan.scan.limit, 10U);
  EXPECT_EQ(scan.scan.lane, 3U);
  EXPECT_EQ(scan.scan.cursor, UINT64_MAX);
  EXPECT_TRUE(scan.scan.with_state);
  EXPECT_EQ(Parsed({"scan", "t"}).scan.limit, UINT64_MAX) << "all rows";
}

TEST(AdminCommandLine, WrongLinesSayWhatIsWrong) {
  const std::vector<std::pair<std::vector<const char*>, std::string>> cases = {
      {{}, "subcommand"},
      {{"statsu"}, "did you mean 'stat"},
      {{"status", "--whatch"}, "unknown flag '--whatch'; did you mean '--watch'? (see --help)"},
      {{"--outptu=json", "status"}, "unknown flag '--outptu'; did you mean '--output'?"},
      {{"collection", "list"}, "unknown command 'list' (see --help)"},
      {{"collection", "load", "", "docs.txt"}, "NAME: expected a value, found an empty one"},
      {{"collection", "load", "c", ""}, "FILE: expected a value, found an empty one"},
      {{"put", "t", "1", ""}, "expected a value, found an empty one"},
      {{"collection", "laod"}, "unknown command 'laod'; did you mean 'load'? (see --help)"},
      {{"status", "--metric=dice"},
       "--metric belongs to collection search, collection explain, not to status (see --help)"},
      {{"--rendezvous", "x", "status"},
       "--rendezvous belongs to status: expected it after that word (see --help)"},
      {{"--rendezvous=x", "status"}, "--rendezvous belongs to status: expected it after that word"},
      {{"--yes", "table", "drop", "t"}, "--yes belongs to table drop: expected it after that word"},
      {{"-k", "3", "collection", "search", "c"},
       "-k belongs to collection search: expected it after"},
      {{"status", "--zzzzzz"}, "unknown flag '--zzzzzz' (see --help)"},
      {{"status", "-o", "xml"}, "xml"},
      {{"status", "--timeout", "fast"}, "--timeout"},
      {{"status", "--timeout", "0s"}, "--timeout: expected more than 0, found '0s'"},
      {{"status", "--watch=1ms"}, "--watch: expected 100ms or more, found '1ms'"},
      {{"collection", "search", "c", "--query", "1", "2"},
       "unknown argument '2': --query takes one word each time that it is given (see --help)"},
      {{"collection", "search", "c", "2", "--queries", "f"}, "unknown argument '2' (see --help)"},
      {{"status", "-c", "a.toml", "--server", "h:1"}, "exclude"},
      {{"get", "t"}, "KEY"},
      {{"get", "t", "-1"}, "KEY '-1'"},
      {{"get", "t", "18446744073709551616"}, "KEY '18446744073709551616'"},
      {{"get", "t", "12x"}, "KEY '12x'"},
      {{"put", "t", "1", "nan"}, "'nan'"},
      {{"push", "t", "1"}, "GRADIENT"},
      {{"push", "t", "1", "0.5", "--step=0"}, "--step: expected a whole number from 1"},
      {{"scan", "t", "--limit=0"}, "--limit: expected a whole number from 1"},
      {{"scan", "t", "--from=7"}, "--from: expected the place that a scan named"},
      {{"scan", "t", "--from=1:"}, "--from: expected the place that a scan named"},
      {{"scan", "t", "--from=-1:0"}, "--from: expected the place that a scan named"},
      {{"put", "t", "1", "1e99"}, "'1e99'"},
      {{"table"}, "subcommand"},
      {{"table", "create", "t"}, "--dim"},
      {{"table", "create", "t", "--dim", "0"}, "dim"},
      {{"table", "create", "t", "--dim", "2000"}, "dim"},
      {{"table", "create", "a b", "--dim", "2"}, "name"},
      {{"table", "create", "t", "--dim", "2", "--optimizer", "adamm"}, "adamm"},
      {{"topology", "-n", "0"}, "0"},
      {{"topology", "-n", "six"}, "six"},
      {{"topology", "--form", "ring"}, "ring"},
      {{"topology", "cost", "--operation", "allsum"}, "reduce-scatter barrier, found 'allsum'"},
      {{"topology", "cost", "--bytes", "8,many"}, "--bytes: expected a size"},
      {{"topology", "cost", "--bytes", "65GiB"}, "at most 64GiB"},
      {{"topology", "cost", "--alpha", "20"}, "--alpha: expected a duration"},
      {{"topology", "cost", "--beta=-1"}, "--beta: expected ns a byte"},
      {{"topology", "cost", "--gamma", "inf"}, "--gamma: expected ns a byte"},
      {{"topology", "cost", "--late", "3"}, "--late: expected RANK:DURATION"},
      {{"topology", "cost", "--slow-rank", "3:0"}, "--slow-rank: expected RANK:FACTOR"},
      {{"topology", "cost", "--slow-link", "3:2"}, "--slow-link: expected A-B:FACTOR"},
      {{"topology", "cost", "--slow-link", "5-5:2"}, "--slow-link: expected A-B:FACTOR"},
      {{"config", "check"}, "FILE"},
      {{"topology", "-n", "65537"}, "-n: expected a whole number from 1 to 65536, found '65537'"},
      {{"drain", "--rank", "-2"}, "--rank: expected a whole number from 0 to 65535, found '-2'"},
      {{"table", "create", "t", "--dim", "-1"},
       "--dim: expected a whole number from 1 to 1024, fo"},
      {{"table", "create", "t", "--dim", "2.5"}, "1 to 1024, found '2.5'"},
      {{"table", "create", "t", "--dim=2", "--seed", "-3"},
       "--seed: expected a whole number from 0"},
      {{"table", "create", "t", "--dim=2", "--seed=18446744073709551616"}, "18446744073709551616"},
      {{"table", "create", "t", "--dim=2", "--learning-rate", "fast"}, "--learning-rate: value 'f"},
      {{"table", "create", "t", "--dim=2", "--ack=twice"}, "ack level 'twice'"},
      {{"table", "create", "t", "--dim=2", "--scale=inf"}, "--scale: value 'inf'"},
      {{"table", "create", "t", "--dim=2", "--learning-rate=0"},
       "--learning-rate: expected a number above 0 and below 1e+30, found 0"},
      {{"table", "create", "t", "--dim=2", "--optimizer=adam", "--beta2=1"},
       "--beta2: expected a number of at least 0 and below 1, found 1"},
      {{"table", "create", "t", "--dim=2", "--decay-steps=1.5"},
       "--decay-steps: expected a whole number from 0 to 1000000000000000, found '1.5'"},
      {{"table", "create", "t", "--dim=2", "--decay-steps=9", "--warmup-steps=1"},
       "decay_start: expected at least warmup_steps, 1, found 0"},
      {{"--config=", "status"}, "--config=: expected a value"},
      {{"--config", "", "status"}, "--config: expected a value"},
      {{"table", "create", "t", "--dim="}, "--dim=: expected a value"},
  };
  for (const auto& [words, part] : cases) {
    const Result<ParsedLine> line = Parse(words);
    ASSERT_FALSE(line.ok()) << part;
    EXPECT_EQ(ExitCode(line.status()), 2) << part;
    EXPECT_THAT(line.status().message(), HasSubstr(part));
  }
}

TEST(AdminCommandLine, ALevelThatIsNotOfferedYetIsRefused) {
  const Result<ParsedLine> line = Parse({"table", "create", "t", "--dim=2", "--ack=replicated"});
  EXPECT_EQ(ExitCode(line.status()), 4);
  EXPECT_THAT(line.status().message(), HasSubstr("ack level 'replicated' is not offered yet"));
}

TEST(AdminCommandLine, HelpAndVersionAreText) {
  const Result<ParsedLine> help = Parse({"--help"});
  ASSERT_TRUE(help.ok());
  EXPECT_FALSE(help->request.has_value());
  for (const char* word : {"status", "topology", "config", "shutdown", "Exit codes"}) {
    EXPECT_THAT(help->text, HasSubstr(word));
  }
  const Result<ParsedLine> of_search = Parse({"collection", "search", "--help"});
  ASSERT_TRUE(of_search.ok());
  for (const char* option : {"--query TOKENS ", "--like ID ", "--where RANGE "}) {
    EXPECT_THAT(of_search->text, HasSubstr(option));
    EXPECT_THAT(of_search->text, Not(HasSubstr(option + std::string("..."))));
  }
  const Result<ParsedLine> of_command = Parse({"table", "create", "--help"});
  ASSERT_TRUE(of_command.ok());
  EXPECT_THAT(of_command->text, HasSubstr("--learning-rate"));
  EXPECT_THAT(of_command->text, HasSubstr("momentum and nesterov"));
  const Result<ParsedLine> version = Parse({"--version"});
  ASSERT_TRUE(version.ok());
  EXPECT_THAT(version->text, HasSubstr("strata-admin 0."));
}

TEST(AdminCommandLine, WhatACollectionIsSearchedFor) {
  const CollectionRequest plain =
      Parsed({"collection", "search", "c", "--query", "3,1"}).collection;
  EXPECT_EQ(plain.name, "c");
  EXPECT_EQ(plain.queries, (std::vector<std::vector<uint32_t>>{{3, 1}}));
  EXPECT_EQ(plain.goal.metric, SetMetric::kOverlapMax);
  EXPECT_EQ(plain.goal.k, 100U);
  const CollectionRequest all =
      Parsed({"collection", "search", "c", "--query=1", "--query=2", "--metric=dice",
              "--threshold=0.5", "--where=price:-5..10", "--where=shop:3..", "--to=out"})
          .collection;
  EXPECT_EQ(all.queries.size(), 2U);
  EXPECT_EQ(all.goal.k, SearchGoal::kAll);
  EXPECT_FALSE(IsLess({1, 2}, all.goal.at_least));
  EXPECT_FALSE(IsLess(all.goal.at_least, {499'999'999, 1'000'000'000}));
  ASSERT_EQ(all.where.size(), 2U);
  EXPECT_EQ(all.where[0].attribute, "price");
  EXPECT_EQ(all.where[0].low, -5);
  EXPECT_EQ(all.where[0].high, 10);
  EXPECT_EQ(all.where[1].high, INT64_MAX);
  EXPECT_EQ(all.to, "out");
  EXPECT_EQ(Parsed({"collection", "search", "c", "--threshold=0.5", "-k", "7"}).collection.goal.k,
            7U);
  const SearchGoal three =
      Parsed({"collection", "search", "c", "--threshold=3", "--metric=Overlap"}).collection.goal;
  EXPECT_FALSE(IsLess(three.at_least, {3, 1}) || IsLess({3, 1}, three.at_least));
  EXPECT_EQ(
      Parsed({"collection", "search", "c", "--metric=Containment-QUERY"}).collection.goal.metric,
      SetMetric::kContainmentQuery);
  EXPECT_EQ(Parsed({"collection", "create", "c"}).collection.copies, 1);
  EXPECT_EQ(Parsed({"collection", "create", "c", "--copies=2"}).collection.copies, 2);
  EXPECT_EQ(Parsed({"collection", "create", "--attribute", "a", "--attribute", "b", "c"})
                .collection.attributes,
            (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(Parsed({"collection", "load", "c", "f", "--first-id=18446744073709551615"})
                .collection.first_id,
            UINT64_MAX);
}

TEST(AdminCommandLine, DocumentsAreNamedByTheirIds) {
  const CollectionRequest gone = Parsed({"collection", "delete", "c", "7", "18446744073709551615",
                                         "--ids=more", "--ack=synced"})
                                     .collection;
  EXPECT_EQ(gone.ids, (std::vector<DocumentId>{7, UINT64_MAX}));
  EXPECT_EQ(gone.ids_file, "more");
  EXPECT_EQ(gone.ack, AckLevel::kSynced);
  EXPECT_EQ(Parsed({"collection", "search", "c", "--like=3", "--like", "0"}).collection.like,
            (std::vector<DocumentId>{3, 0}));
}

TEST(AdminCommandLine, BadOptionsOfCollectionsAreNamed) {
  const std::pair<std::vector<const char*>, const char*> cases[] = {
      {{"search", "c", "--query", "1,x"}, "--query '1,x': column 3: expected a token"},
      {{"search", "c", "--query=1", "--metric=euclid"},
       "--metric: expected one of overlap, overlap_max, jaccard, dice, cosine, containment_query, "
       "containment_document; found 'euclid'"},
      {{"search", "c", "--query=1", "--metric=Jacard"}, "found 'Jacard'; did you mean 'jaccard'?"},
      {{"search", "c", "--query=1", "-k", "0"}, "-k: expected a whole number from 1 to 1000000"},
      {{"search", "c", "--query=1", "-k", "many"}, "found 'many'"},
      {{"search", "c", "--query=1", "--threshold=0"}, "--threshold: expected a score above 0"},
      {{"search", "c", "--query=1", "--threshold=nan"}, "found 'nan'"},
      {{"search", "c", "--query=1", "--threshold=inf"}, "found 'inf'"},
      {{"search", "c", "--query=1", "--threshold=50%"}, "as overlap_max has them; found '50%'"},
      {{"search", "c", "--query=1", "--threshold=1e-10"}, "at least 0.000000001"},
      {{"search", "c", "--query=1", "--threshold=1.5"},
       "and at most 1, as overlap_max has them; found '1.5'; to count tokens in common give "
       "--metric overlap"},
      {{"search", "c", "--query=1", "--threshold=1.5", "--metric=cosine"},
       "and at most 1, as cosine has them; found '1.5'"},
      {{"search", "c", "--query=1", "--threshold=1048577", "--metric=overlap"},
       "a score of 1 or more and at most 1048576, as overlap has them; found '1048577'"},
      {{"search", "c", "--query=1", "--offsets=o.npy"},
       "--offsets: has no effect without --queries"},
      {{"search", "c", "--query=1", "--where=price"}, "--where: expected NAME:NUMBER or NAME:LOW"},
      {{"search", "c", "--query=1", "--where=price:1x"}, "found 'price:1x'"},
      {{"search", "c", "--query=1", "--where=price:9223372036854775808"},
       "whole numbers from -2^63 to 2^63 - 1, LOW or HIGH may be left out, found 'price:922"},
      {{"explain", "c", "--query=1", "--threshold=1.5", "--metric=overlap"},
       "--threshold: expected a whole number, as overlap counts tokens in common; found '1.5'"},
      {{"explain", "c", "--query=1", "--to=out"}, "--to"},
      {{"load", "c", "f", "--ids=i", "--first-id=0"}, "--first-id and --ids exclude each other"},
      {{"export", "c"}, "FOLDER"},
      {{"search", "c", "--query=1", "--where=price:.."}, "found 'price:..'"},
      {{"search", "c", "--query=1", "--where=:1..2"}, "found ':1..2'"},
      {{"search", "c", "--query=1", "--where=price:a..2"}, "found 'price:a..2'"},
      {{"search", "c", "--query=1", "--where=price:3..2"}, "3 is above 2"},
      {{"load", "c", "f", "--first-id=-1"}, "--first-id: expected a whole number"},
      {{"create", "c", "--copies=0"}, "--copies: expected a whole number from 1 to 64, found '0'"},
      {{"create", "c", "--copies=300"}, "--copies: expected a whole number from 1 to 64"},
      {{"load", "c", "f", "--ack=sometimes"}, "sometimes"},
      {{"get", "c", "-7"}, "-7"},
      {{"get", "c", "7x"},
       "ID: expected a document's id, a whole number from 0 to 2^64 - 1, found '7x'"},
      {{"delete", "c", "1", "1.5"}, "found '1.5'"},
      {{"search", "c", "--like=18446744073709551616"}, "--like: expected a document's id"},
      {{"load", "c"}, "FILE"},
      {{"create"}, "NAME"},
  };
  for (const auto& [words, message] : cases) {
    std::vector<const char*> line = {"collection"};
    line.insert(line.end(), words.begin(), words.end());
    const Status status = Parse(line).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalid) << message;
    EXPECT_THAT(status.message(), HasSubstr(message));
  }
}

}  // namespace
}  // namespace strata::admin
