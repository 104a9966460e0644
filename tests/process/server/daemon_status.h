// What a strata-server answers to strata-admin.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "proto/control/control.pb.h"
#include "ps/client/control_call.h"
#include "tests/process/server/daemon.h"

namespace strata {

inline control::NodeStatus StatusOf(const Daemon& daemon) {
  control::ControlRequest request;
  request.mutable_status();
  const std::string body = request.SerializeAsString();
  const auto bytes =
      CallControl(daemon.address(), kCluster, std::as_bytes(std::span(body)), 20 * kSecond);
  EXPECT_TRUE(bytes.ok()) << bytes.status().ToString();
  control::ControlReply reply;
  if (bytes.ok()) {
    EXPECT_TRUE(reply.ParseFromArray(bytes->data(), static_cast<int>(bytes->size())));
  }
  return reply.status();
}

}  // namespace strata
