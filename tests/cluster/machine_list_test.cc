#include "cluster/topology/machine_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace strata {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string ErrorOf(std::string_view text) {
  const auto list = ParseMachineList(text, "machines.txt");
  EXPECT_FALSE(list.ok()) << text;
  EXPECT_EQ(list.status().code(), StatusCode::kInvalid);
  return list.status().message();
}

TEST(MachineList, AByteOrderMarkIsSkipped) {
  const auto list = ParseMachineList(
      "\xef\xbb\xbf"
      "127.0.0.1:7600 server\n",
      "machines.txt");
  ASSERT_TRUE(list.ok()) << list.status().ToString();
  EXPECT_EQ(list->machines.at(0).Address(), "127.0.0.1:7600");
}

TEST(MachineList, ReadsLightGbmForm) {
  const auto list = ParseMachineList("10.0.0.1 12400\r\n\n  host-b\t12401  # second\n", "m.txt");
  ASSERT_TRUE(list.ok()) << list.status().ToString();
  ASSERT_EQ(list->machines.size(), 2u);
  EXPECT_EQ(list->machines[0].Address(), "10.0.0.1:12400");
  EXPECT_EQ(list->machines[1].Address(), "host-b:12401");
  EXPECT_EQ(list->machines[1].line, 3);
  EXPECT_EQ(list->machines[1].rank, 1);
  EXPECT_EQ(list->machines[1].role, Role::kWorker);
}

TEST(MachineList, ReadsRolesOptionsAndIpv6) {
  const auto list = ParseMachineList(
      "# the cluster\n"
      "[2001:db8::1]:7600 server lanes=4\n"
      "10.0.0.1:7700 worker\n"
      "node.example.org:7600 server # one lane\n"
      "10.0.0.2:7700 worker",
      "m.txt");
  ASSERT_TRUE(list.ok()) << list.status().ToString();
  const auto servers = list->Of(Role::kServer);
  const auto workers = list->Of(Role::kWorker);
  ASSERT_EQ(servers.size(), 2u);
  ASSERT_EQ(workers.size(), 2u);
  EXPECT_EQ(servers[0].host, "2001:db8::1");
  EXPECT_EQ(servers[0].Address(), "[2001:db8::1]:7600");
  EXPECT_EQ(servers[0].lanes, 4);
  EXPECT_EQ(servers[1].lanes, 1);
  EXPECT_EQ(servers[1].rank, 1);
  EXPECT_EQ(workers[1].rank, 1);
  EXPECT_EQ(workers[1].line, 5);
}

TEST(MachineList, ErrorsNameFileLineAndColumn) {
  const std::pair<const char*, const char*> cases[] = {
      {"\n\n10.0.0.1:76 servr\n", "machines.txt:3:13: unknown role 'servr'; expected server or "},
      {"a:1 worker\nb:2\n", "machines.txt:2:4: no role behind 'b:2'"},
      {"a:0 worker\n", "machines.txt:1:3: bad port '0'"},
      {"a:65536 worker\n", "machines.txt:1:3: bad port '65536'"},
      {"a:7x worker\n", "machines.txt:1:3: bad port '7x'"},
      {"a 70000\n", "machines.txt:1:3: bad port '70000'"},
      {"a worker\n", "machines.txt:1:2: no port in 'a'"},
      {"a\n", "machines.txt:1:2: no port in 'a'"},
      {"1.2.3.400:70 worker\n", "machines.txt:1:1: bad host '1.2.3.400'"},
      {":70 worker\n", "machines.txt:1:1: bad host ''"},
      {"a$b:70 worker\n", "machines.txt:1:1: bad host 'a$b'"},
      {"::1:70 worker\n", "machines.txt:1:1: '::1:70' has more than one colon; write an IPv6"},
      {"[::1:70 worker\n", "machines.txt:1:1: no closing bracket"},
      {"[::1]70 worker\n", "machines.txt:1:6: no port in '[::1]70'"},
      {"[::g]:70 worker\n", "machines.txt:1:2: bad host '::g'"},
      {"a:1 server lanes=0\n", "machines.txt:1:18: bad number of lanes '0'"},
      {"a:1 server lanes=1025\n", "machines.txt:1:18: bad number of lanes '1025'"},
      {"a:1 server lane=2\n", "machines.txt:1:12: unknown option 'lane=2'; expected lanes=N"},
      {"a:1 worker lanes=2\n", "machines.txt:1:12: lanes belong to servers"},
      {"a 1 worker\n", "machines.txt:1:5: unexpected 'worker'"},
      {"rank=1\n", "machines.txt:1:1: a list holds machines only; give the rank with --rank"},
      {"A:1 worker\na:1 worker\n", "machines.txt:2:1: a:1 is listed twice, first in line 1"},
      {"a 1\nb:2 worker\n", "machines.txt:2:1: the forms \"host port\" and \"host:port role\" are"},
      {"", "machines.txt:1:1: the list names no machine"},
      {"# nothing\n", "machines.txt:1:1: the list names no machine"},
  };
  for (const auto& [text, expected] : cases) EXPECT_THAT(ErrorOf(text), StartsWith(expected));
}

TEST(MachineList, OpenMpiHostFile) {
  const auto list = ParseMachineList(
      "node1 slots=2 max_slots=4  # twice\nnode2\nnode1 max-slots=9\n", "hosts", 7700);
  ASSERT_TRUE(list.ok()) << list.status().ToString();
  std::vector<std::string> addresses;
  for (const Machine& machine : list->Of(Role::kWorker)) addresses.push_back(machine.Address());
  EXPECT_THAT(addresses, ElementsAre("node1:7700", "node1:7701", "node2:7700", "node1:7702"));
  EXPECT_EQ(list->machines[3].rank, 3);
  EXPECT_EQ(list->machines[1].line, 1);
}

TEST(MachineList, OpenMpiHostFileErrors) {
  const auto error = [](const char* text, uint16_t port) {
    const auto list = ParseMachineList(text, "hosts", port);
    EXPECT_FALSE(list.ok()) << text;
    return list.status().message();
  };
  EXPECT_THAT(error("a slots=1\n", 0), StartsWith("hosts:1:1: a host file names no ports; set "));
  EXPECT_THAT(error("a slots=0\n", 1), StartsWith("hosts:1:3: bad option 'slots=0'; expected sl"));
  EXPECT_THAT(error("a slots=1 slot=2\n", 1), StartsWith("hosts:1:11: bad option 'slot=2'"));
  EXPECT_THAT(error("a slots=3\n", 65534), StartsWith("hosts:1:1: a has more slots than"));
  EXPECT_THAT(error("a slots=1\nb 7700\n", 1),
              StartsWith("hosts:2:1: the forms \"host port\" and \"host slots=N\" are mixed"));
}

TEST(MachineList, ReportsAllErrorsUpToTen) {
  std::string text;
  for (int i = 0; i < 14; ++i) text += "a:x worker\n";
  const std::string error = ErrorOf(text);
  EXPECT_EQ(std::count(error.begin(), error.end(), '\n'), 10);
  EXPECT_THAT(error, HasSubstr("machines.txt:10:3"));
  EXPECT_THAT(error, HasSubstr("4 more errors"));
}

}  // namespace
}  // namespace strata
