// A server and its client in one process; then the same rows in a store without any server.
#include <strata/cluster.h>
#include <strata/local_store.h>
#include <strata/server.h>

#include <cstdio>

namespace {

strata::Result<std::vector<float>> Train(strata::TableStore& store) {
  const strata::TableSpec table{.name = "t", .dim = 4, .seed = 3};
  STRATA_TRY(store.CreateTable(table));
  const strata::Key keys[] = {1, 2, 1};
  STRATA_TRY(Push(store, table, keys, std::vector<float>(12, 1.0F)));
  return Pull(store, table, keys);
}

strata::Status Run() {
  STRATA_ASSIGN(const auto server,
                strata::EmbeddedServer::Start(
                    {.settings = {{"server.port", "0"}, {"server.lanes", "2"}, {"http.port", "-1"}},
                     .inproc = "here"}));
  STRATA_ASSIGN(const auto cluster, strata::Cluster::Connect({.servers = {"inproc://here"}}));
  STRATA_ASSIGN(const std::vector<float> remote, Train(cluster->tables()));
  const auto store = strata::MakeLocalStore();
  STRATA_ASSIGN(const std::vector<float> local, Train(*store));
  if (remote != local) return strata::Failed("the server's rows are not those of a local store");
  std::printf("%zu numbers are equal\n", local.size());
  return {};
}

}  // namespace

int main() {
  const strata::Status status = Run();
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return strata::ExitCode(status);
}
