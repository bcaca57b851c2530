#include "client/session/publish_op.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/session/found_data.h"
#include "client/session/target.h"
#include "common/codec/infos.h"
#include "common/describe.h"
#include "common/local/data.h"
#include "common/values/info_list.h"
#include "common/values/value_ops.h"

namespace canopy::client {
namespace {

using local::FrameType;

int Encode(const InfoArray& array, std::string* out) {
  if (!array.ok()) return PMIX_ERR_BAD_PARAM;
  return EncodeInfos(array.infos, array.size, out);
}

int EncodePublish(const InfoArray& array, std::string* frame) {
  if (array.size == 0) return PMIX_ERR_BAD_PARAM;
  std::string infos;
  const int rc = Encode(array, &infos);
  if (rc != PMIX_SUCCESS) return rc;
  for (size_t i = 0; i < array.size; ++i) {
    if (KeyOf(array.infos[i]).empty()) return PMIX_ERR_BAD_PARAM;
  }
  *frame = wire::Encode(local::Publish{infos});
  return PMIX_SUCCESS;
}

// Encodes a list of keys. Each key is sent once, because agents limit the
// length of the list.
int EncodeKeys(std::vector<std::string_view> keys, const InfoArray& directives,
               std::string* frame) {
  std::ranges::sort(keys);
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  if (keys.size() > local::kMaxKeys) return PMIX_ERR_BAD_PARAM;
  std::string infos;
  const int rc = Encode(directives, &infos);
  if (rc != PMIX_SUCCESS) return rc;
  for (const std::string_view key : keys) {
    if (key.empty() || key.size() > kMaxKeyLen) return PMIX_ERR_BAD_PARAM;
  }
  *frame = wire::Encode(local::Keys{std::move(keys), infos});
  return PMIX_SUCCESS;
}

// Reads an array of keys that ends with null. Returns false if it is null,
// empty, or contains a key that is too long.
bool ReadKeys(char* const* array, std::vector<std::string_view>* keys) {
  if (array == nullptr) return false;
  for (; *array != nullptr; ++array) {
    std::string_view key;
    if (!ReadKey(*array, &key)) return false;
    keys->push_back(key);
  }
  return !keys->empty();
}

int EncodeUnpublish(char* const* array, const InfoArray& directives,
                    std::string* frame) {
  std::vector<std::string_view> keys;
  // An empty array is an error. Only null means all keys.
  if (array != nullptr && !ReadKeys(array, &keys)) return PMIX_ERR_BAD_PARAM;
  return EncodeKeys(std::move(keys), directives, frame);
}

bool FoundAny(int status) {
  return status == PMIX_SUCCESS || status == PMIX_ERR_PARTIAL_SUCCESS;
}

// Returns the status of the lookup; on failure there is no data.
int TakeFound(const Reply& reply, size_t limit, FoundData* found) {
  if (!FoundAny(reply.status)) return reply.status;
  return found->Decode(reply.payload, limit) ? reply.status
                                             : PMIX_ERR_UNPACK_FAILURE;
}

// Fills in the values; a key may be named more than once.
int Fill(const FoundData& found, std::span<pmix_pdata_t> data) {
  for (pmix_pdata_t& one : data) {
    const pmix_pdata_t* entry = found.Find(KeyOfData(one));
    if (entry == nullptr) continue;
    const int rc = CopyValue(&one.value, entry->value);
    if (rc != PMIX_SUCCESS) return rc;
    one.proc = entry->proc;
  }
  return PMIX_SUCCESS;
}

int Call(Session& session, FrameType type, const std::string& frame) {
  if (session.channel() == nullptr) return PMIX_ERR_UNREACH;
  return session.channel()->Call(type, frame).status;
}

int CallAsync(Session& session, FrameType type, const std::string& frame,
              pmix_op_cbfunc_t cbfunc, void* cbdata) {
  if (session.channel() == nullptr) return PMIX_ERR_UNREACH;
  return session.channel()->CallAsync(
      type, frame, [=](const Reply& reply) { cbfunc(reply.status, cbdata); });
}

}  // namespace

int PublishData(Session& session, const InfoArray& infos) {
  std::string frame;
  const int rc = EncodePublish(infos, &frame);
  return rc == PMIX_SUCCESS ? Call(session, FrameType::kPublish, frame) : rc;
}

int PublishDataAsync(Session& session, const InfoArray& infos,
                     pmix_op_cbfunc_t cbfunc, void* cbdata) {
  std::string frame;
  const int rc = EncodePublish(infos, &frame);
  if (rc != PMIX_SUCCESS) return rc;
  return CallAsync(session, FrameType::kPublish, frame, cbfunc, cbdata);
}

int LookUpData(Session& session, std::span<pmix_pdata_t> data,
               const InfoArray& directives) {
  if (data.empty()) return PMIX_ERR_BAD_PARAM;
  std::vector<std::string_view> keys;
  for (const pmix_pdata_t& one : data) keys.push_back(KeyOfData(one));
  std::string frame;
  int rc = EncodeKeys(std::move(keys), directives, &frame);
  if (rc != PMIX_SUCCESS) return rc;
  for (pmix_pdata_t& one : data) one.value = {};
  if (session.channel() == nullptr) return PMIX_ERR_UNREACH;
  const Reply reply = session.channel()->Call(FrameType::kLookup, frame);
  FoundData found;
  const int status = TakeFound(reply, data.size(), &found);
  if (!FoundAny(status)) return status;
  rc = Fill(found, data);
  return rc == PMIX_SUCCESS ? status : rc;
}

int LookUpDataAsync(Session& session, char* const* keys,
                    const InfoArray& directives, pmix_lookup_cbfunc_t cbfunc,
                    void* cbdata) {
  std::vector<std::string_view> names;
  if (!ReadKeys(keys, &names)) return PMIX_ERR_BAD_PARAM;
  std::string frame;
  const int rc = EncodeKeys(names, directives, &frame);
  if (rc != PMIX_SUCCESS) return rc;
  if (session.channel() == nullptr) return PMIX_ERR_UNREACH;
  return session.channel()->CallAsync(
      FrameType::kLookup, frame, [=, limit = names.size()](const Reply& reply) {
        FoundData found;
        const int status = TakeFound(reply, limit, &found);
        // The data is valid until the callback returns.
        cbfunc(status, found.data(), found.size(), cbdata);
      });
}

int UnpublishData(Session& session, char* const* keys,
                  const InfoArray& directives) {
  std::string frame;
  const int rc = EncodeUnpublish(keys, directives, &frame);
  return rc == PMIX_SUCCESS ? Call(session, FrameType::kUnpublish, frame) : rc;
}

int UnpublishDataAsync(Session& session, char* const* keys,
                       const InfoArray& directives, pmix_op_cbfunc_t cbfunc,
                       void* cbdata) {
  std::string frame;
  const int rc = EncodeUnpublish(keys, directives, &frame);
  if (rc != PMIX_SUCCESS) return rc;
  return CallAsync(session, FrameType::kUnpublish, frame, cbfunc, cbdata);
}

}  // namespace canopy::client
