// Asking a running worker, over its link port: what strata-admin uses. Needs the cluster's secret
// and, where its links use it, TLS, but neither job nor rank. Blocks; thread-safe; no thread is
// left behind.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "cluster/tls/tls_context.h"
#include "cluster/topology/machine_list.h"
#include "strata/status.h"

namespace strata {

// The worker's status, as its provider made it. kLost: nobody listens there, or it is no worker;
// kRefused: the secrets or the protocol versions differ, or TLS does not let them together;
// kDeadlineExceeded: no answer in time.
Result<std::string> QueryStatus(const std::string& host, uint16_t port, std::string_view secret,
                                TimeNs timeout,
                                const std::shared_ptr<const TlsContext>& tls = nullptr);

// Where all workers of its group listen, in rank order. Errors as above, and kInvalid: it answers
// with no machine list.
Result<std::vector<Machine>> QueryWorkers(const std::string& host, uint16_t port,
                                          std::string_view secret, TimeNs timeout,
                                          const std::shared_ptr<const TlsContext>& tls = nullptr);

// Hands `request` (at most 16 MiB) to the worker's control handler and returns its answer.
Result<std::string> SendControl(const std::string& host, uint16_t port, std::string_view secret,
                                std::string_view request, TimeNs timeout,
                                const std::shared_ptr<const TlsContext>& tls = nullptr);

}  // namespace strata
