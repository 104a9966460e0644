// RemoteStore against real servers in this process: connecting, threads, large batches, servers
// that restart, and single control calls.
#include "ps/client/remote_store.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>

#include "ps/client/control_call.h"
#include "ps/net/zmq_port.h"
#include "tests/ps/client/cluster_fixture.h"

namespace strata {
namespace {

using ::testing::HasSubstr;

TableSpec Sums() {
  TableSpec spec;
  spec.name = "sums";
  spec.optimizer.learning_rate = 1.0F;
  return spec;
}

TablePart Part(const std::vector<Key>& keys) {
  TablePart part;
  part.table = Sums().id();
  part.keys = keys;
  return part;
}

Operation Push(const std::vector<Key>& keys, const std::vector<float>& gradients) {
  Operation operation;
  operation.kind = OpKind::kUpdate;
  operation.parts = {Part(keys)};
  operation.parts[0].in = gradients;
  return operation;
}

Operation Pull(const std::vector<Key>& keys, std::vector<float>& rows) {
  Operation operation;
  operation.parts = {Part(keys)};
  operation.parts[0].out = rows;
  return operation;
}

// A port on which nobody listens: a server's that has ended.
std::string AbandonedAddress() { return TestServers(1, 1).addresses()[0]; }

TEST(RemoteStore, SaysWhichServerDoesNotAnswer) {
  RemoteStoreOptions options;
  options.connect_timeout = kSecond / 5;
  options.servers = {AbandonedAddress()};
  const auto store = RemoteStore::Connect(options);
  EXPECT_EQ(store.status().code(), StatusCode::kLost);
  EXPECT_THAT(store.status().message(), HasSubstr("server 0 (" + options.servers[0] + ")"));
  options.servers.clear();
  EXPECT_EQ(RemoteStore::Connect(options).status().code(), StatusCode::kInvalid);
}

TEST(RemoteStore, SaysWhichHostDoesNotResolve) {
  RemoteStoreOptions options;
  options.connect_timeout = kSecond / 5;
  options.servers = {"no-such-host.invalid:7600"};
  const auto store = RemoteStore::Connect(options);
  EXPECT_EQ(store.status().code(), StatusCode::kInvalid);
  EXPECT_THAT(store.status().message(),
              HasSubstr("server 0: host 'no-such-host.invalid' does not"));
}

TEST(RemoteStore, AnotherClusterOrMachineListIsRefused) {
  TestServers servers(2, 1);
  RemoteStoreOptions options = servers.Options();
  options.cluster_id = 1;
  EXPECT_EQ(RemoteStore::Connect(options).status().code(), StatusCode::kRefused);
  options = servers.Options();
  std::swap(options.servers[0], options.servers[1]);
  EXPECT_EQ(RemoteStore::Connect(options).status().code(), StatusCode::kInvalid);
  options.servers.pop_back();
  EXPECT_EQ(RemoteStore::Connect(options).status().code(), StatusCode::kInvalid);
}

class RemoteStoreOver : public testing::TestWithParam<Transport> {};

INSTANTIATE_TEST_SUITE_P(Transports, RemoteStoreOver,
                         testing::Values(Transport::kTcp, Transport::kSharedMemory,
                                         Transport::kInproc));

TEST(RemoteStore, SharesNoMemoryWhenItIsNotMeantTo) {
  TestServers servers(1, 2, false, "", Transport::kSharedMemory);
  const auto shares = servers.Connect();
  RemoteStoreOptions options = servers.Options();
  options.shared_memory = false;
  const auto store = RemoteStore::Connect(options);
  ASSERT_TRUE(store.ok()) << store.status().ToString();
  // By now it would have been told of it and have taken it.
  for (int i = 0; i < 20; ++i) ASSERT_TRUE((*store)->ListTables().ok());
  EXPECT_TRUE(TestServers::AllLanesGo(**store, Transport::kTcp));
}

TEST(RemoteStore, SaysAtOnceWhichServerOfTheProcessIsNotThere) {
  TestServers servers(2, 1, false, "", Transport::kInproc);
  RemoteStoreOptions options = servers.Options();
  options.servers[1] = "inproc://nobody";
  const auto store = RemoteStore::Connect(options);
  EXPECT_EQ(store.status().code(), StatusCode::kLost);
  EXPECT_THAT(store.status().message(),
              HasSubstr("server 1 (inproc://nobody): this process has no server of that name"));
  options.absent = {1};  // is not looked for
  EXPECT_TRUE(RemoteStore::Connect(options).ok());
}

TEST_P(RemoteStoreOver, ThreadsAndStoresAddUpExactly) {
  constexpr int kThreads = 3;
  constexpr int kPushes = 50;
  TestServers servers(2, 2, false, "", GetParam());
  const auto first = servers.Connect();
  const auto second = servers.Connect();
  ASSERT_TRUE(first->CreateTable(Sums()).ok());
  std::vector<Key> keys(100);
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = i;
  const std::vector<float> gradients(keys.size(), -1.0F);
  std::atomic<int> failed = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        RemoteStore& store = t == 0 ? *second : *first;
        for (int i = 0; i < kPushes; ++i) {
          if (!SubmitAndWait(store, Push(keys, gradients)).status.ok()) ++failed;
        }
      });
    }
  }
  EXPECT_EQ(failed, 0);
  std::vector<float> rows(keys.size());
  ASSERT_TRUE(SubmitAndWait(*second, Pull(keys, rows)).status.ok());
  EXPECT_EQ(rows, std::vector<float>(keys.size(), kThreads * kPushes));
}

TEST(RemoteStore, AbortLetsGoOfAStepThatNobodyWillFinish) {
  TestServers servers(1, 2);
  const auto store = servers.Connect();
  ASSERT_TRUE(store->CreateTable(Sums()).ok());
  const std::vector<Key> keys = {1, 2, 3};
  const std::vector<float> gradients(3, 1.0F);
  Operation push = Push(keys, gradients);
  push.sync = SyncGroup{.id = 1, .rank = 0, .world = 2, .first_step = 1};
  std::promise<Outcome> pushed;
  store->Submit(push, [&](Outcome outcome) { pushed.set_value(std::move(outcome)); });
  store->Abort(Lost("rank 1 is gone"));
  EXPECT_EQ(pushed.get_future().get().status.message(), "rank 1 is gone");
  EXPECT_EQ(store->CreateTable(Sums()).code(), StatusCode::kLost);
}

TEST(RemoteStore, ClosingEndsWhatIsOpen) {
  TestServers servers(1, 1);
  auto store = servers.Connect();
  ASSERT_TRUE(store->CreateTable(Sums()).ok());
  const std::vector<Key> keys = {1};
  const std::vector<float> gradients(1, 1.0F);
  Operation push = Push(keys, gradients);
  push.sync = SyncGroup{.id = 1, .rank = 0, .world = 2, .first_step = 1};
  std::promise<Outcome> pushed;
  store->Submit(push, [&](Outcome outcome) { pushed.set_value(std::move(outcome)); });
  store.reset();
  EXPECT_EQ(pushed.get_future().get().status.code(), StatusCode::kCancelled);
}

TEST(RemoteStore, AServerThatComesBackEmptyEndsTheJob) {
  auto servers = std::make_unique<TestServers>(1, 2);
  const auto store = servers->Connect();
  ASSERT_TRUE(store->CreateTable(Sums()).ok());
  const std::vector<Key> keys = {1, 2, 3};
  const std::vector<float> gradients(3, 1.0F);
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(SubmitAndWait(*store, Push(keys, gradients)).status.ok());
  }
  ServerOptions again;
  again.cluster_id = kTestCluster;
  again.lanes_per_server = {2};
  again.port = servers->server(0).port();
  servers.reset();
  const auto successor = Server::Start(again);
  ASSERT_TRUE(successor.ok()) << successor.status().ToString();
  std::vector<float> rows(keys.size());
  const Status status = SubmitAndWait(*store, Pull(keys, rows)).status;
  EXPECT_EQ(status.code(), StatusCode::kLost);
  EXPECT_THAT(status.message(),
              HasSubstr("restarted without its memory: what it held of shards 0..1023 is gone, "
                        "with 4 acknowledged writes of this client"));
}

TEST(ControlCall, HelloSaysWhoIsThere) {
  TestServers servers(2, 3);
  const auto hello = CallHello(servers.addresses()[1], kTestCluster, 10 * kSecond);
  ASSERT_TRUE(hello.ok()) << hello.status().ToString();
  EXPECT_EQ(hello->server, 1);
  EXPECT_EQ(hello->servers, 2);
  EXPECT_EQ(hello->lane_ports.size(), 3U);
  EXPECT_EQ(hello->incarnation, servers.server(1).incarnation());
  EXPECT_EQ(CallHello(servers.addresses()[0], 1, 10 * kSecond).status().code(),
            StatusCode::kRefused);
  const std::string nobody = AbandonedAddress();
  const Status status = CallHello(nobody, kTestCluster, kSecond / 10).status();
  EXPECT_EQ(status.code(), StatusCode::kLost);
  EXPECT_THAT(status.message(), HasSubstr(nobody));
}

// The server dies with the question unread; another process comes back at its address.
TEST(ControlCall, AsksAgainWhoComesBack) {
  auto first = ZmqRouterPort::Bind(ZmqContext::Create().value(), "127.0.0.1", 0).value();
  const uint16_t port = first->port();
  Result<wire::HelloReply> hello = Internal("not asked");
  std::jthread asking([&, address = fmt::format("127.0.0.1:{}", port)] {
    hello = CallHello(address, kTestCluster, 60 * kSecond);
  });
  ASSERT_TRUE(first->Receive(kNever).value().has_value());
  first.reset();  // with its context, which waits until the address is free
  auto second = ZmqRouterPort::Bind(ZmqContext::Create().value(), "127.0.0.1", port).value();
  const auto again = second->Receive(kNever).value();
  ASSERT_TRUE(again.has_value());
  const auto request = wire::Open(again->message).value();
  const wire::HelloReply reply{
      .server = 0, .servers = 1, .incarnation = 7, .lane_ports = {1}, .server_version = "test"};
  ASSERT_TRUE(second
                  ->Send({again->peer, wire::Seal(wire::ReplyHeader(request.header, 7),
                                                  {wire::EncodeHelloReply(reply)})})
                  .ok());
  asking.join();
  ASSERT_TRUE(hello.ok()) << hello.status().ToString();
  EXPECT_EQ(hello->incarnation, 7U);
}

TEST(ControlCall, WhatIsNoControlRequestIsAnError) {
  TestServers servers(1, 1);
  const std::vector<std::byte> noise(20, std::byte{0xff});
  const auto reply = CallControl(servers.addresses()[0], kTestCluster, noise, 10 * kSecond);
  EXPECT_EQ(reply.status().code(), StatusCode::kInvalid) << reply.status().ToString();
}

}  // namespace
}  // namespace strata
