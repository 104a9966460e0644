// Tests of links that run twice: without TLS and with it.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/cluster/certificates.h"
#include "tests/cluster/loopback.h"

namespace strata {

// Instantiate over testing::Bool() with TlsName.
class WithAndWithoutTls : public testing::TestWithParam<bool> {
 protected:
  static std::shared_ptr<const TlsContext> Tls() { return GetParam() ? TestTls() : nullptr; }
  static Loopback Net(int world) { return Loopback(world, "127.0.0.1", Tls()); }
};

inline std::string TlsName(const testing::TestParamInfo<bool>& tls) {
  return tls.param ? "Tls" : "Plain";
}

}  // namespace strata
