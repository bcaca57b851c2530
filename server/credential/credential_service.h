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

// The type of these credentials, as PMIX_CRED_TYPE names it.
inline constexpr char kCredentialType[] = "canopy";

struct CredentialOptions {
  // Without one, and so without a secret, nothing is issued or validated:
  // kErrNotSupported.
  std::optional<security::ClusterKey> cluster_key;
  std::string overlay;  // its id
  NodeId self = 0;
  // Seconds since the epoch; none: the system's clock.
  std::function<int64_t()> now_s;
  std::function<void(const core::LogLine&)> log;
};

// Loop thread only.
class CredentialService {
 public:
  explicit CredentialService(CredentialOptions options);

  // For who calls, as its connection has proved. The results are
  // PMIX_CREDENTIAL, the bytes, then PMIX_CRED_TYPE. kErrNotSupported when
  // PMIX_CRED_TYPE asks for other types only.
  Status Issue(const core::AskHost& request, Bytes* results);
  // kErrInvalidCred for whatever was not issued in this overlay, or too long
  // ago. The results tell of the holder: PMIX_USERID, PMIX_GRPID, PMIX_PROCID;
  // and PMIX_CRED_TYPE.
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
