// PMIx_Get_credential and PMIx_Validate_credential.
#ifndef CANOPY_SERVER_CREDENTIAL_CREDENTIAL_SERVICE_H_
#define CANOPY_SERVER_CREDENTIAL_CREDENTIAL_SERVICE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "common/bytes.h"
#include "common/ids.h"
#include "common/status.h"
#include "common/values/info_list.h"
#include "server/core/step/host.h"
#include "server/core/step/log_line.h"
#include "server/credential/process_credential.h"
#include "server/host/directives.h"
#include "server/security/cluster_key.h"

namespace canopy::credential {

// The value of PMIX_CRED_TYPE for Canopy's credentials.
inline constexpr char kCredentialType[] = "canopy";

struct CredentialOptions {
  // Without a key there is no secret, and every request gets kErrNotSupported.
  std::optional<security::ClusterKey> cluster_key;
  std::string overlay;  // overlay id
  NodeId self = 0;
  // Returns seconds since the epoch; empty: the system's clock.
  std::function<int64_t()> now_s;
  std::function<void(const core::LogLine&)> log;
};

// Loop thread only.
class CredentialService {
 public:
  explicit CredentialService(CredentialOptions options);

  // Issues a credential for the caller's identity, which its connection has
  // proved. The results are PMIX_CREDENTIAL, which contains the bytes, and
  // PMIX_CRED_TYPE. Returns kErrNotSupported if PMIX_CRED_TYPE lists only other
  // types, if a directive is required that has no effect, or if the overlay has
  // no cluster key; kErrUnpackFailure for a malformed request.
  Status Issue(const core::AskHost& request, Bytes* results);
  // Returns kErrInvalidCred if the credential was not issued in this overlay,
  // or has expired; otherwise the errors of Issue. The results describe the
  // holder: PMIX_USERID, PMIX_GRPID, PMIX_PROCID; and PMIX_CRED_TYPE.
  Status Validate(const core::AskHost& request, Bytes* results);

 private:
  Status Check(const ProcId& caller, const InfoList& infos,
               host::Directives* directives);

  const CredentialOptions options_;
  const std::optional<CredentialKey> key_;
  host::Directives of_issue_;
  host::Directives of_validate_;
};

}  // namespace canopy::credential

#endif  // CANOPY_SERVER_CREDENTIAL_CREDENTIAL_SERVICE_H_
