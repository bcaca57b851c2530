#include "client/session/query_op.h"

#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/session/query_call.h"
#include "common/values/info_list.h"

namespace canopy::client {
namespace {

using local::FrameType;

// Lives as long as one of its requests is in progress.
struct AsyncQuery {
  AsyncQuery(Session* s, pmix_info_cbfunc_t f, void* d)
      : session(s), call(s), cbfunc(f), cbdata(d) {}

  Session* session;
  QueryCall call;
  pmix_info_cbfunc_t cbfunc;
  void* cbdata;
};
using AsyncQueryRef = std::shared_ptr<AsyncQuery>;

void Free(void* infos) { delete static_cast<InfoList*>(infos); }

// Calls the callback with the status and the answers. The callee may keep the
// answers until it calls the release function.
void CallBack(AsyncQuery& query, int status) {
  auto answers = std::make_unique<InfoList>();
  if (status == PMIX_SUCCESS) status = query.call.Finish(answers.get());
  if (answers->empty()) {
    return query.cbfunc(status, nullptr, 0, query.cbdata, nullptr, nullptr);
  }
  InfoList* kept = answers.release();
  query.cbfunc(status, kept->mutable_data(), kept->size(), query.cbdata, Free,
               kept);
}

int SendNext(const AsyncQueryRef& query, const std::string& frame);

void OnReply(const AsyncQueryRef& query, const Reply& reply) {
  query->call.Take(reply);
  const std::optional<std::string> frame = query->call.NextFrame();
  if (!frame) return CallBack(*query, PMIX_SUCCESS);
  const int rc = SendNext(query, *frame);
  if (rc != PMIX_SUCCESS) CallBack(*query, rc);
}

int SendNext(const AsyncQueryRef& query, const std::string& frame) {
  return query->session->channel()->CallAsync(
      FrameType::kQuery, frame,
      [query](const Reply& reply) { OnReply(query, reply); });
}

int Deliver(QueryCall& call, pmix_info_t** results, size_t* nresults) {
  InfoList answers;
  const int status = call.Finish(&answers);
  if (!answers.empty()) *results = answers.Release(nresults);
  return status;
}

bool Prepare(pmix_info_t** results, size_t* nresults) {
  if (results == nullptr || nresults == nullptr) return false;
  *results = nullptr;
  *nresults = 0;
  return true;
}

}  // namespace

int QueryInfo(Session& session, const QueryRequest& request,
              pmix_info_t** results, size_t* nresults) {
  if (!Prepare(results, nresults)) return PMIX_ERR_BAD_PARAM;
  QueryCall call(&session);
  const int rc = call.Start(request.queries, request.nqueries);
  if (rc != PMIX_SUCCESS) return rc;
  const ChannelRef channel = session.channel();
  while (channel != nullptr) {
    const std::optional<std::string> frame = call.NextFrame();
    if (!frame) break;
    call.Take(channel->Call(FrameType::kQuery, *frame));
  }
  return Deliver(call, results, nresults);
}

int QueryInfoAsync(Session& session, const QueryRequest& request,
                   pmix_info_cbfunc_t cbfunc, void* cbdata) {
  auto query = std::make_shared<AsyncQuery>(&session, cbfunc, cbdata);
  const int rc = query->call.Start(request.queries, request.nqueries);
  if (rc != PMIX_SUCCESS) return rc;
  std::optional<std::string> frame;
  if (session.channel() != nullptr) frame = query->call.NextFrame();
  if (frame) return SendNext(query, *frame);
  session.progress().Post([query] { CallBack(*query, PMIX_SUCCESS); });
  return PMIX_SUCCESS;
}

int QuerySupport(const QueryRequest& request, pmix_info_t** results,
                 size_t* nresults) {
  if (!Prepare(results, nresults)) return PMIX_ERR_BAD_PARAM;
  QueryCall call(nullptr);
  const int rc = call.Start(request.queries, request.nqueries);
  if (!call.only_support()) return PMIX_ERR_INIT;
  return rc == PMIX_SUCCESS ? Deliver(call, results, nresults) : rc;
}

int RegisterAttributes(Session& session, const char* function,
                       char* const* attributes) {
  if (function == nullptr || attributes == nullptr) return PMIX_ERR_BAD_PARAM;
  std::vector<std::string> names;
  for (; *attributes != nullptr; ++attributes) names.emplace_back(*attributes);
  return session.registered().Register(function, names);
}

}  // namespace canopy::client
