// Which level of a job's data a reserved key belongs to when the caller does
// name one: session, job, application, node or process.
#ifndef CANOPY_CLIENT_SESSION_REALM_H_
#define CANOPY_CLIENT_SESSION_REALM_H_

#include <cstdint>
#include <string_view>

namespace canopy::client {

enum class Realm : uint8_t {
  kUnknown,  // not a key of the table
  kSession,
  kJob,
  kApp,
  kNode,
  kLocalPart,  // the namespace's share of one node: local peers, local size
  kProc,
};

// Keys that begin like this belong to the Standard and to the host.
inline bool IsReserved(std::string_view key) {
  return key.substr(0, 4) == "pmix";
}

// The realm of a reserved key; kUnknown when the table has no such key.
Realm DefaultRealm(std::string_view key);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_REALM_H_
