// Two real servers and strata-admin for one test, with a machine list that also names a worker,
// which never starts.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "ps/client/remote_store.h"
#include "tests/support/free_port.h"
#include "tests/support/process.h"
#include "tests/support/temp_folder.h"

namespace strata {

enum class AdminData : uint8_t { kNone, kFolders };

class AdminFixture : public ::testing::Test {
 protected:
  // With folders: each server has one for its data, and one for checkpoints is shared by both.
  explicit AdminFixture(AdminData data) : data_(data) {
    std::string machines;
    FreePort ports[3];
    for (size_t i = 0; i < std::size(ports); ++i) {
      machines += fmt::format("127.0.0.1:{} {}\n", ports[i].Release(), i < 2 ? "server" : "worker");
    }
    WriteWholeFile(folder_.File("machines.txt"), machines);
    WriteClusterFile("admin-test");
    for (int rank = 0; rank < 2; ++rank) servers_.push_back(StartServer(rank));
    for (const auto& server : servers_) {
      EXPECT_TRUE(server->WaitForOutput("ready")) << server->Errors();
    }
  }

  std::unique_ptr<Process> StartServer(int rank) const {
    std::vector<std::string> words = {"--config=" + config(), fmt::format("--rank={}", rank)};
    if (data_ == AdminData::kFolders) {
      words.push_back(fmt::format("--data={}/data-{}", folder_.path(), rank));
      words.push_back("--checkpoints=" + checkpoints());
    } else {
      words.push_back("--memory_only");
    }
    return std::make_unique<Process>(ProgramPath("strata-server"),
                                     ProcessOptions{.arguments = std::move(words)});
  }

  std::string config() const { return folder_.File("cluster.toml"); }
  std::string checkpoints() const { return folder_.File("checkpoints"); }

  // The file that strata-admin reads; servers that run have read theirs. `more`: further sections.
  void WriteClusterFile(const std::string& name, const std::string& more = "") {
    WriteWholeFile(
        config(),
        fmt::format("[cluster]\nname = \"{}\"\nmachines = \"machines.txt\"\n{}", name, more));
  }

  ProcessResult Admin(std::vector<std::string> words) {
    words.insert(words.begin(), "--config=" + config());
    return RunProcess(ProgramPath("strata-admin"), {.arguments = std::move(words)});
  }

  // The one JSON object that the command prints, whatever its exit code.
  nlohmann::json AdminJson(std::vector<std::string> words, int code = 0) {
    words.insert(words.begin(), {"-o", "json"});
    const ProcessResult result = Admin(std::move(words));
    EXPECT_EQ(result.end.code, code) << result.errors;
    EXPECT_EQ(result.output.find('\n'), result.output.size() - 1) << result.output;
    return nlohmann::json::parse(result.output, nullptr, false);
  }

  // For a client of both servers.
  RemoteStoreOptions StoreOptions() {
    RemoteStoreOptions options;
    const nlohmann::json status = AdminJson({"status"});
    for (const nlohmann::json& node : status.at("nodes")) {
      if (node.at("role") == "server") options.servers.push_back(node.at("address"));
    }
    options.cluster_id = Hash64(std::string_view("admin-test"));
    return options;
  }

  const AdminData data_;
  TempFolder folder_;
  std::vector<std::unique_ptr<Process>> servers_;
};

}  // namespace strata
