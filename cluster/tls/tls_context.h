// TlsContext: what TLS needs to know about this process and its cluster, from PEM files.
//
// TLS 1.3 alone, both sides with a certificate. The CA is the cluster's own: whoever holds a
// certificate that it signed is a member. Which rank a member is, the handshake of the links says
// (cluster/link/connect/handshake.h); names in certificates are not looked at, so that one
// certificate may serve on any host and a host's address may change.
#pragma once

#include <memory>

#include "base/file/disk.h"
#include "cluster/tls/tls_files.h"
#include "strata/status.h"

struct ssl_ctx_st;

namespace strata {

// Immutable. Any thread.
class TlsContext {
 public:
  // Null without files. kInvalid names file and reason: unreadable, no PEM, a key that does not fit
  // the certificate, a certificate that the CA has not signed, that has expired, or that is for
  // servers or clients alone (each process is both).
  static Result<std::shared_ptr<const TlsContext>> Load(const TlsFiles& files,
                                                        Disk& disk = RealDisk());

  ssl_ctx_st* get() const { return context_.get(); }

 private:
  struct Free {
    void operator()(ssl_ctx_st* context) const;
  };
  using Owned = std::unique_ptr<ssl_ctx_st, Free>;
  explicit TlsContext(Owned context) : context_(std::move(context)) {}

  Owned context_;
};

}  // namespace strata
