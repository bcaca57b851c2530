#include "client/session/put_op.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "client/session/realm.h"
#include "client/session/target.h"
#include "common/codec/stored_key.h"
#include "common/process_keys.h"
#include "common/values/info_list.h"
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

// Returns true for reserved keys that a process may put: the binding of
// processes, which Open MPI puts for processes that it has bound itself,
// because the host does not know it; and keys whose values only the process
// knows.
bool MayPutReserved(std::string_view key) {
  return key == PMIX_CPUSET || key == PMIX_LOCALITY_STRING ||
         key == PMIX_ARCH || IsOfProcess(key);
}

// Returns the scope whose values are removed by a deletion with `scope`.
pmix_scope_t DeletedScope(pmix_scope_t scope) {
  return static_cast<pmix_scope_t>(scope - PMIX_DEL_LOCAL + PMIX_LOCAL);
}

// Removes a key. The commit publishes an empty value in place of the key's
// value, because a key that other processes have stored can only be replaced.
int DeleteKey(Session& session, pmix_scope_t scope, const char* key) {
  std::string_view name;
  if (!ReadKey(key, &name) || name.empty() || IsStoredName(name)) {
    return PMIX_ERR_BAD_PARAM;
  }
  // A key is deleted without a value, so the qualifiers are unknown.
  if (name == PMIX_QUALIFIED_VALUE) return PMIX_ERR_NOT_SUPPORTED;
  if (IsReserved(name) && !MayPutReserved(name)) return PMIX_ERR_BAD_PARAM;
  if (scope == PMIX_DEL_INTERNAL) {
    session.store().EraseInternal(session.self(), name);
    return PMIX_SUCCESS;
  }
  const pmix_scope_t deleted = DeletedScope(scope);
  const Value none;
  const int rc = session.commits().staged().Stage(deleted, name, none.raw());
  if (rc == PMIX_SUCCESS) {
    session.store().Put(session.self(), name, none, deleted);
  }
  return rc;
}

// The data of one put, as views of its arguments.
struct Item {
  std::string_view name;  // key under which the value is stored
  const pmix_value_t* value = nullptr;
  std::string qualified;  // the name of a qualified value
};

// Reads a value of PMIX_QUALIFIED_VALUE, which holds the key and the value of
// the caller. Without qualifiers it is put as an ordinary key. Returns a PMIx
// status.
int ReadQualified(const pmix_value_t& value, Item* out) {
  const auto infos = InfosOf(value);
  if (!infos || infos->empty()) return PMIX_ERR_BAD_PARAM;
  const std::string_view key = KeyOf(infos->front());
  const bool all_marked =
      std::ranges::all_of(infos->subspan(1), [](const pmix_info_t& info) {
        return (info.flags & PMIX_INFO_QUALIFIER) != 0;
      });
  if (!all_marked || key.empty() || IsStoredName(key) ||
      (IsReserved(key) && !MayPutReserved(key))) {
    return PMIX_ERR_BAD_PARAM;
  }
  out->qualified = QualifiedNameOf(key, infos->subspan(1));
  out->name = out->qualified;
  out->value = infos->size() == 1 ? &infos->front().value : &value;
  return PMIX_SUCCESS;
}

// Sends a commit as a message. Waits for the answer, because the frame may be
// too large, and because a dying agent may not read it.
int SendCommit(Session& session, const std::string& frame) {
  const Reply reply =
      session.job_channel()->Call(local::FrameType::kCommit, frame);
  if (reply.status == PMIX_SUCCESS) session.commits().Note();
  return reply.status;
}

// Returns true if the mailbox has lost its reader. While a successor of the
// agent is expected, a closed connection does not count, because a reattach
// also sends the commits left in the mailbox.
bool AgentIsGone(const Session& session, const Channel& channel) {
  return session.agent().MayReattach() ? channel.lost() : channel.PeerIsGone();
}

}  // namespace

int PutValue(Session& session, pmix_scope_t scope, const char* key,
             const pmix_value_t* value) {
  if (scope > PMIX_DEL_INTERNAL) return PMIX_ERR_NOT_SUPPORTED;
  if (scope > PMIX_INTERNAL) return DeleteKey(session, scope, key);
  std::string_view name;
  if (value == nullptr || !ReadKey(key, &name) || name.empty() ||
      IsStoredName(name) || scope == PMIX_SCOPE_UNDEF) {
    return PMIX_ERR_BAD_PARAM;
  }
  Item item{name, value, {}};
  int rc = PMIX_SUCCESS;
  if (name == PMIX_QUALIFIED_VALUE) {
    rc = ReadQualified(*value, &item);
  } else if (IsReserved(name)) {
    // The host has published PMIX_HOSTNAME already.
    if (name == PMIX_HOSTNAME) return PMIX_SUCCESS;
    if (!MayPutReserved(name)) rc = PMIX_ERR_BAD_PARAM;
  }
  Value copy;
  if (rc == PMIX_SUCCESS) rc = CopyOf(*item.value, &copy);
  if (rc == PMIX_SUCCESS && scope != PMIX_INTERNAL) {
    rc = session.commits().staged().Stage(scope, item.name, *item.value);
  }
  if (rc != PMIX_SUCCESS) return rc;
  session.store().Put(session.self(), item.name, std::move(copy), scope);
  return PMIX_SUCCESS;
}

int StoreInternal(Session& session, const pmix_proc_t* proc, const char* key,
                  const pmix_value_t* value) {
  std::string_view name;
  if (value == nullptr || !ReadKey(key, &name) || name.empty() ||
      IsStoredName(name)) {
    return PMIX_ERR_BAD_PARAM;
  }
  Target target;
  int rc = ResolveTarget(session, proc, &target);
  Item item{name, value, {}};
  if (rc == PMIX_SUCCESS && name == PMIX_QUALIFIED_VALUE) {
    rc = ReadQualified(*value, &item);
  }
  Value copy;
  if (rc == PMIX_SUCCESS) rc = CopyOf(*item.value, &copy);
  if (rc != PMIX_SUCCESS) return rc;
  session.store().Put({std::string(target.nspace), target.rank}, item.name,
                      std::move(copy), PMIX_INTERNAL);
  return PMIX_SUCCESS;
}

int CommitPuts(Session& session) {
  const ChannelRef channel = session.job_channel();
  if (channel == nullptr) {
    // A singleton has no peers that could get its data.
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
