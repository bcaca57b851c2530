// The address and the security of an overlay's control service.
#ifndef CANOPY_CLIENT_CLI_CONTROL_CONTROL_TARGET_H_
#define CANOPY_CLIENT_CLI_CONTROL_CONTROL_TARGET_H_

#include <string>

namespace canopy::cli {

struct ControlTarget {
  std::string address;  // "unix:PATH" or "HOST:PORT"
  // The member to which the agent at the address forwards calls
  // (common/user_calls.h). Empty: the agent executes them.
  std::string member = {};
  // The security of the overlay. HOST:PORT needs "tls" or "files", because an
  // overlay without TLS is controlled through Unix sockets only.
  std::string security;
  std::string cluster_key;  // 32 bytes
  std::string tls_ca;       // PEM files of "files"
  std::string tls_cert;
  std::string tls_key;
};

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_CONTROL_CONTROL_TARGET_H_
