// The level of a job's data to which a reserved key belongs if the caller does
// not name one: session, job, application, node or process.
#ifndef CANOPY_CLIENT_SESSION_REALM_H_
#define CANOPY_CLIENT_SESSION_REALM_H_

#include <cstdint>
#include <string_view>

namespace canopy::client {

enum class Realm : uint8_t {
  kUnknown,  // the table has no such key
  kSession,
  kJob,
  kApp,
  kNode,
  kLocalPart,  // the job's processes on one node: local peers, local size
  kProc,
};

// Returns true for keys that belong to the Standard and to the host, by their
// prefix.
inline bool IsReserved(std::string_view key) {
  return key.substr(0, 4) == "pmix";
}

// Returns the realm of a reserved key, or kUnknown for a key that is not in the
// table.
Realm DefaultRealm(std::string_view key);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_REALM_H_
