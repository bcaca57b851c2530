#include "client/session/put_op.h"

#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "client/session/realm.h"
#include "client/session/target.h"
#include "common/codec/stored_key.h"
#include "common/values/value.h"
#include "common/values/value_ops.h"

namespace canopy::client {
namespace {

int CopyOf(const pmix_value_t& from, Value* to) {
  pmix_value_t copy = {};
  const int rc = CopyValue(&copy, from);
  if (rc == PMIX_SUCCESS) *to = Value::Adopt(&copy);
  return rc;
}

// Reserved keys that Open MPI puts nevertheless, because it binds processes
// that the host left unbound, and knows then what the host does not.
bool MayPutReserved(std::string_view key) {
  return key == PMIX_CPUSET || key == PMIX_LOCALITY_STRING || key == PMIX_ARCH;
}

// Waits for the answer: the data may not fit, and a commit that a dying agent
// has not read must not be relied on.
int SendCommit(Session& session, const std::string& frame) {
  const Reply reply =
      session.job_channel()->Call(local::FrameType::kCommit, frame);
  if (reply.status == PMIX_SUCCESS) session.commits().Note();
  return reply.status;
}

// Whether nobody will read the mailbox any more. Where a successor is expected,
// a closed connection alone does not mean that: what is left in the mailbox
// meanwhile is among the commits that a reattach sends.
bool AgentIsGone(const Session& session, const Channel& channel) {
  return session.agent().MayReattach() ? channel.lost() : channel.PeerIsGone();
}

}  // namespace

int PutValue(Session& session, pmix_scope_t scope, const char* key,
             const pmix_value_t* value) {
  // Among them those that withdraw a key, which come without a value.
  if (scope > PMIX_INTERNAL) return PMIX_ERR_NOT_SUPPORTED;
  std::string_view name;
  if (value == nullptr || !ReadKey(key, &name) || name.empty() ||
      IsStoredName(name) || scope == PMIX_SCOPE_UNDEF) {
    return PMIX_ERR_BAD_PARAM;
  }
  if (IsReserved(name)) {
    // The host has published it already, so there is nothing left to do.
    if (name == PMIX_HOSTNAME) return PMIX_SUCCESS;
    if (!MayPutReserved(name)) return PMIX_ERR_BAD_PARAM;
  }
  Value copy;
  int rc = CopyOf(*value, &copy);
  if (rc == PMIX_SUCCESS && scope != PMIX_INTERNAL) {
    rc = session.commits().staged().Stage(scope, name, *value);
  }
  if (rc != PMIX_SUCCESS) return rc;
  session.store().Put(session.self(), name, std::move(copy), scope);
  return PMIX_SUCCESS;
}

int StoreInternal(Session& session, const pmix_proc_t* proc, const char* key,
                  const pmix_value_t* value) {
  std::string_view name;
  if (value == nullptr || !ReadKey(key, &name) || name.empty()) {
    return PMIX_ERR_BAD_PARAM;
  }
  Target target;
  int rc = ResolveTarget(session, proc, &target);
  if (rc != PMIX_SUCCESS) return rc;
  Value copy;
  rc = CopyOf(*value, &copy);
  if (rc != PMIX_SUCCESS) return rc;
  session.store().Put({std::string(target.nspace), target.rank}, name,
                      std::move(copy), PMIX_INTERNAL);
  return PMIX_SUCCESS;
}

int CommitPuts(Session& session) {
  const ChannelRef channel = session.job_channel();
  if (channel == nullptr) {
    // A singleton's data is for no other process.
    (void)session.commits().staged().TakeFrame();
    return PMIX_SUCCESS;
  }
  std::string frame;
  switch (session.commits().Commit(
      [&] { return AgentIsGone(session, *channel); }, &frame)) {
    case shm::CommitWriter::Outcome::kMessage:
      return SendCommit(session, frame);
    case shm::CommitWriter::Outcome::kNotify:
      (void)channel->Post(local::FrameType::kCommitted, {});
      break;
    case shm::CommitWriter::Outcome::kWritten:
      break;
  }
  return PMIX_SUCCESS;
}

}  // namespace canopy::client
