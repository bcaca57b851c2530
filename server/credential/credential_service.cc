#include "server/credential/credential_service.h"

#include <ctime>
#include <string_view>
#include <utility>

#include "common/codec/infos.h"
#include "common/host_call.h"
#include "common/values/value.h"
#include "pmix_common.h"

namespace canopy::credential {
namespace {

std::optional<CredentialKey> KeyOf(const CredentialOptions& options) {
  if (!options.cluster_key) return std::nullopt;
  return CredentialKey(*options.cluster_key, options.overlay);
}

// Returns true if a list of types contains kCredentialType.
bool NamesOurs(std::string_view types) {
  while (true) {
    const size_t comma = types.find(',');
    if (types.substr(0, comma) == kCredentialType) return true;
    if (comma == std::string_view::npos) return false;
    types.remove_prefix(comma + 1);
  }
}

Status Give(const InfoList& results, Bytes* out) {
  std::string encoded;
  const int code = EncodeInfos(results.data(), results.size(), &encoded);
  if (code != kSuccess) return Status(code, "results that cannot travel");
  *out = Bytes(std::move(encoded));
  return Status();
}

Status Malformed() {
  return Status(kErrUnpackFailure, "malformed call about a credential");
}

}  // namespace

CredentialService::CredentialService(CredentialOptions options)
    : options_(std::move(options)),
      key_(KeyOf(options_)),
      // The timeout has no effect, because no call blocks. The user in the
      // directives has no effect, because the agent knows the caller's user.
      of_issue_("PMIx_Get_credential",
                {PMIX_CRED_TYPE, PMIX_TIMEOUT, PMIX_USERID, PMIX_GRPID},
                options_.log),
      of_validate_("PMIx_Validate_credential",
                   {PMIX_CRED_TYPE, PMIX_TIMEOUT, PMIX_USERID, PMIX_GRPID},
                   options_.log) {}

Status CredentialService::Check(const ProcId& caller, const InfoList& infos,
                                host::Directives* directives) {
  if (!key_) {
    return Status(kErrNotSupported,
                  "an overlay without a cluster key has no credentials");
  }
  const auto types = infos.FindString(PMIX_CRED_TYPE);
  if ((types && !NamesOurs(*types)) || !directives->Check(caller, infos)) {
    return Status(kErrNotSupported, "no such credential");
  }
  return Status();
}

Status CredentialService::Issue(const core::AskHost& request, Bytes* results) {
  InfoList infos;
  if (!DecodeInfos(request.call.view(), &infos)) return Malformed();
  Status status = Check(request.source, infos, &of_issue_);
  if (!status.ok()) return status;
  const int64_t now = options_.now_s ? options_.now_s() : time(nullptr);
  const std::string credential = key_->Issue(
      {request.source, request.uid, request.gid, options_.self, now});
  return Give({{PMIX_CREDENTIAL, Value::ByteObject(credential)},
               {PMIX_CRED_TYPE, Value::String(kCredentialType)}},
              results);
}

Status CredentialService::Validate(const core::AskHost& request,
                                   Bytes* results) {
  host_call::ValidateCredential call;
  InfoList infos;
  if (!wire::Decode(request.call, &call) || !DecodeInfos(call.infos, &infos)) {
    return Malformed();
  }
  Status status = Check(request.source, infos, &of_validate_);
  if (!status.ok()) return status;
  const int64_t now = options_.now_s ? options_.now_s() : time(nullptr);
  const std::optional<Holder> holder = key_->Check(call.credential, now);
  if (!holder) return Status(kErrInvalidCred, "not a valid credential");
  return Give({{PMIX_USERID, Value::Uint32(holder->uid)},
               {PMIX_GRPID, Value::Uint32(holder->gid)},
               {PMIX_PROCID, Value::Proc(holder->proc)},
               {PMIX_CRED_TYPE, Value::String(kCredentialType)}},
              results);
}

}  // namespace canopy::credential
