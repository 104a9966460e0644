// Which servers a cluster file means.
#include "tools/admin/nodes/cluster_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temp_folder.h"

namespace strata::admin {
namespace {

Result<ClusterConfig> Load(const TempFolder& folder, const std::string& text) {
  WriteWholeFile(folder.File("cluster.toml"), text);
  Request request;
  request.config_file = folder.File("cluster.toml");
  return LoadClusterConfig(request);
}

TEST(ClusterView, AFileWithoutAListIsThatOfOneServer) {
  const TempFolder folder;
  const auto config = Load(folder, "[cluster]\nname = \"lone\"\n[server]\nport = 7813\n");
  ASSERT_TRUE(config.ok()) << config.status().ToString();
  EXPECT_EQ(config->name, "lone");
  ASSERT_EQ(config->machines.Of(Role::kServer).size(), 1U);
  EXPECT_EQ(config->machines.Of(Role::kServer)[0].Address(), "127.0.0.1:7813");
}

TEST(ClusterView, AListWithoutServersIsAnError) {
  const TempFolder folder;
  WriteWholeFile(folder.File("machines.txt"), "127.0.0.1:7700 worker\n");
  const auto config = Load(folder, "[cluster]\nmachines = \"machines.txt\"\n");
  EXPECT_THAT(config.status().message(), testing::HasSubstr("the machine list has no server"));
}

}  // namespace
}  // namespace strata::admin
