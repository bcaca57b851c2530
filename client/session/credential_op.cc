#include "client/session/credential_op.h"

#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "client/session/host_call.h"
#include "common/codec/infos.h"
#include "common/host_call.h"
#include "common/values/info_list.h"
#include "common/values/value.h"

namespace canopy::client {
namespace {

int MakeIssue(const InfoArray& infos, HostCall* call) {
  if (!infos.ok()) return PMIX_ERR_BAD_PARAM;
  call->op = HostOp::kGetCredential;
  return EncodeInfos(infos.infos, infos.size, &call->call);
}

int MakeValidation(const pmix_byte_object_t* credential, const InfoArray& infos,
                   HostCall* call) {
  if (credential == nullptr || !infos.ok() ||
      (credential->bytes == nullptr && credential->size > 0)) {
    return PMIX_ERR_BAD_PARAM;
  }
  std::string encoded;
  const int rc = EncodeInfos(infos.infos, infos.size, &encoded);
  if (rc != PMIX_SUCCESS) return rc;
  call->op = HostOp::kValidateCredential;
  call->call = wire::Encode(host_call::ValidateCredential{
      {credential->bytes, credential->size}, encoded});
  return PMIX_SUCCESS;
}

// Takes the credential out of the results. Returns PMIX_ERR_NOT_FOUND if the
// agent has issued none.
int TakeCredential(InfoList* results, std::string* bytes) {
  const pmix_info_t* info = results->Find(PMIX_CREDENTIAL);
  const auto found = info == nullptr ? std::nullopt : BytesOf(info->value);
  if (!found) return PMIX_ERR_NOT_FOUND;
  *bytes = *found;
  results->Remove(PMIX_CREDENTIAL);
  return PMIX_SUCCESS;
}

int CopyOut(std::string_view bytes, pmix_byte_object_t* out) {
  // malloc(0) may return null, which would look like a failure.
  out->bytes = static_cast<char*>(malloc(bytes.empty() ? 1 : bytes.size()));
  if (out->bytes == nullptr) return PMIX_ERR_NOMEM;
  memcpy(out->bytes, bytes.data(), bytes.size());
  out->size = bytes.size();
  return PMIX_SUCCESS;
}

}  // namespace

int GetCredential(Session& session, const InfoArray& infos,
                  pmix_byte_object_t* credential) {
  if (credential == nullptr) return PMIX_ERR_BAD_PARAM;
  *credential = {nullptr, 0};
  HostCall call;
  int rc = MakeIssue(infos, &call);
  InfoList results;
  std::string bytes;
  if (rc == PMIX_SUCCESS) rc = CallHost(session, call, &results);
  if (rc == PMIX_SUCCESS) rc = TakeCredential(&results, &bytes);
  return rc == PMIX_SUCCESS ? CopyOut(bytes, credential) : rc;
}

int GetCredentialAsync(Session& session, const InfoArray& infos,
                       pmix_credential_cbfunc_t cbfunc, void* cbdata) {
  HostCall call;
  const int rc = MakeIssue(infos, &call);
  if (rc != PMIX_SUCCESS) return rc;
  return CallHostAsync(session, call, [=](int status, InfoList results) {
    std::string bytes;
    if (status == PMIX_SUCCESS) status = TakeCredential(&results, &bytes);
    // The credential is valid until the callback returns.
    pmix_byte_object_t credential = {bytes.data(), bytes.size()};
    cbfunc(status, status == PMIX_SUCCESS ? &credential : nullptr,
           results.mutable_data(), results.size(), cbdata);
  });
}

int ValidateCredential(Session& session, const pmix_byte_object_t* credential,
                       const InfoArray& infos, pmix_info_t** results,
                       size_t* nresults) {
  if (results == nullptr || nresults == nullptr) return PMIX_ERR_BAD_PARAM;
  *results = nullptr;
  *nresults = 0;
  HostCall call;
  int rc = MakeValidation(credential, infos, &call);
  InfoList found;
  if (rc == PMIX_SUCCESS) rc = CallHost(session, call, &found);
  if (rc == PMIX_SUCCESS) *results = found.Release(nresults);
  return rc;
}

int ValidateCredentialAsync(Session& session,
                            const pmix_byte_object_t* credential,
                            const InfoArray& infos,
                            pmix_validation_cbfunc_t cbfunc, void* cbdata) {
  HostCall call;
  const int rc = MakeValidation(credential, infos, &call);
  if (rc != PMIX_SUCCESS) return rc;
  return CallHostAsync(session, call, [=](int status, InfoList results) {
    cbfunc(status, results.mutable_data(), results.size(), cbdata);
  });
}

}  // namespace canopy::client
