// Where a process finds what it needs for TLS.
#pragma once

#include <string>

namespace strata {

// Paths of PEM files. All of them, or none.
struct TlsFiles {
  std::string certificate = {};  // of this process; those between it and the CA behind it
  std::string key = {};          // the certificate's private key, without a password
  std::string ca = {};           // certificates of those who sign members of the cluster

  bool empty() const { return certificate.empty(); }
};

}  // namespace strata
