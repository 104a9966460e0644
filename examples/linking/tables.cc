// tables HOST:PORT: pushes to a table and searches a collection of a server.
#include <strata/cluster.h>

#include <cstdio>

namespace {

strata::Status Run(const char* server) {
  STRATA_ASSIGN(const auto cluster, strata::Cluster::Connect({.servers = {server}}));

  const strata::TableSpec users{.name = "users", .dim = 2, .optimizer = {.learning_rate = 0.5F}};
  STRATA_TRY(cluster->tables().CreateTable(users));
  const strata::Key keys[] = {7, 8};
  STRATA_TRY(Push(cluster->tables(), users, keys, std::vector<float>{1, 2, 3, 4}));
  STRATA_ASSIGN(const std::vector<float> rows, Pull(cluster->tables(), users, keys));

  STRATA_TRY(cluster->collections().Create({.name = "baskets"}));
  const strata::Document documents[] = {{.id = 1, .tokens = {10, 20}}, {.id = 2, .tokens = {30}}};
  STRATA_TRY(cluster->collections().Upsert("baskets", documents));
  strata::SetLists queries;
  queries.Add(std::vector<strata::Token>{10, 20, 30});
  STRATA_ASSIGN(const auto hits,
                cluster->collections().Search("baskets", queries.view(), {.k = 1}));
  std::printf("row of 8: %g %g; nearest: %llu\n", rows[2], rows[3],
              static_cast<unsigned long long>(hits[0][0].id));
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: tables HOST:PORT\n");
    return 2;
  }
  const strata::Status status = Run(argv[1]);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return strata::ExitCode(status);
}
