#include "client/session/server_uri.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "client/session/query_op.h"
#include "common/values/info_list.h"
#include "common/values/value.h"
#include "common/values/value_ops.h"

namespace canopy::client {
namespace {

// Each get sends its own request, because the primary server of a tool may
// change.
struct UriQuery {
  UriQuery() {
    query.keys = keys;
    request = {&query, 1};
  }
  UriQuery(const UriQuery&) = delete;
  UriQuery& operator=(const UriQuery&) = delete;

  char key[sizeof PMIX_SERVER_URI] = PMIX_SERVER_URI;
  char* keys[2] = {key, nullptr};
  pmix_query_t query = {};
  QueryRequest request = {};
};

int Take(pmix_info_t* infos, size_t count, pmix_value_t* value) {
  const pmix_info_t* found = FindInfo({infos, count}, PMIX_SERVER_URI);
  return found == nullptr ? PMIX_ERR_NOT_FOUND : CopyValue(value, found->value);
}

int TakeOwn(Session& session, pmix_value_t* value) {
  const Session::Address address = session.address();
  const std::string uri = address ? address() : "";
  if (uri.empty()) return PMIX_ERR_NOT_FOUND;
  *value = Value::String(uri).Release();
  return PMIX_SUCCESS;
}

// A request in progress, with the function that receives its result.
struct Pending {
  UriQuery query;
  std::function<void(int, pmix_value_t*)> done;
};

void OnAnswer(pmix_status_t status, pmix_info_t* infos, size_t count,
              void* data, pmix_release_cbfunc_t release, void* release_data) {
  const std::unique_ptr<Pending> pending(static_cast<Pending*>(data));
  pmix_value_t value = {};
  if (status == PMIX_SUCCESS) status = Take(infos, count, &value);
  if (release != nullptr) release(release_data);
  pending->done(status, &value);
}

// Returns no value if a request to the agent is needed.
std::optional<int> FindHere(Session& session, std::string_view key,
                            const GetOptions& options, pmix_value_t* value) {
  if (key == PMIX_MYSERVER_URI || session.channel() == nullptr) {
    // A server without a connection to another server is its own server.
    const bool is_own =
        key == PMIX_MYSERVER_URI || !session.servers().is_tool();
    return is_own ? TakeOwn(session, value) : PMIX_ERR_NOT_FOUND;
  }
  if (options.optional) return PMIX_ERR_NOT_FOUND;
  return std::nullopt;
}

}  // namespace

bool IsServerUri(const Session& session, const Target& target,
                 std::string_view key, const GetOptions& options) {
  return (key == PMIX_SERVER_URI || key == PMIX_MYSERVER_URI) &&
         options.realm == Realm::kUnknown &&
         target.nspace == session.self().nspace &&
         (target.rank == session.self().rank || !IsProcessRank(target.rank));
}

int FindServerUri(Session& session, std::string_view key,
                  const GetOptions& options, pmix_value_t* value) {
  if (const auto here = FindHere(session, key, options, value)) return *here;
  const UriQuery query;
  pmix_info_t* infos = nullptr;
  size_t count = 0;
  int rc = QueryInfo(session, query.request, &infos, &count);
  if (rc == PMIX_SUCCESS) rc = Take(infos, count, value);
  FreeInfos(infos, count);
  return rc;
}

int FindServerUriAsync(
    Session& session, std::string_view key, const GetOptions& options,
    std::function<void(int status, pmix_value_t* value)> done) {
  const auto value = std::make_shared<Value>();
  if (const auto here = FindHere(session, key, options, value->mutable_raw())) {
    if (*here != PMIX_SUCCESS) return *here;
    session.progress().Post([done = std::move(done), value] {
      pmix_value_t found = value->Release();
      done(PMIX_SUCCESS, &found);
    });
    return PMIX_SUCCESS;
  }
  auto pending = std::make_unique<Pending>();
  pending->done = std::move(done);
  const int rc =
      QueryInfoAsync(session, pending->query.request, OnAnswer, pending.get());
  if (rc == PMIX_SUCCESS) (void)pending.release();
  return rc;
}

}  // namespace canopy::client
