#include "client/session/get_op.h"

#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "client/session/agent_get.h"
#include "client/session/get_options.h"
#include "client/session/realm.h"
#include "client/session/server_uri.h"
#include "client/session/target.h"
#include "client/topology/node_keys.h"
#include "common/codec/stored_key.h"
#include "common/ids.h"
#include "common/process_keys.h"
#include "common/values/value.h"
#include "common/values/value_ops.h"

namespace canopy::client {
namespace {

using local::FrameType;

struct Arguments {
  Target target;
  std::string_view key;  // empty: all keys
  GetOptions options;
  bool of_reserved = false;  // `key` names a qualified value of a reserved key
};

// A get that finds its value in shared memory takes some dozens of nanoseconds.
// So the functions that few gets need have the attributes `noinline` and
// `cold`, which keep them out of the code that all gets execute.

// Returns true if the caller requests its own rank by an invalid rank, which
// `proc` has.
[[gnu::noinline, gnu::cold]] bool WantsOwnRank(const Session& session,
                                               const pmix_proc_t* proc,
                                               std::string_view key) {
  const std::string_view nspace = NspaceOf(*proc);
  return key == PMIX_RANK &&
         (nspace.empty() || nspace == session.self().nspace);
}

// Returns true if `proc` names a rank in a group, which stands for a member of
// the group. Most processes have no group, so this costs them one load.
inline bool IsOfGroup(const Session& session, const pmix_proc_t* proc) {
  return session.groups().any() && proc != nullptr &&
         IsProcessRank(proc->rank) && session.groups().Has(NspaceOf(*proc));
}

// Calls get(member) for the member of the group that `proc` designates.
template <typename Get>
[[gnu::noinline, gnu::cold]] int OfMember(const Session& session,
                                          const pmix_proc_t& proc,
                                          const Get& get) {
  const std::optional<pmix_proc_t> member =
      session.groups().MemberAt(NspaceOf(proc), proc.rank);
  return member ? get(&*member) : PMIX_ERR_NOT_FOUND;
}

[[gnu::always_inline]] inline int Parse(const Session& session,
                                        const pmix_proc_t* proc,
                                        const char* key,
                                        const pmix_info_t* info, size_t ninfo,
                                        Arguments* out) {
  if (!ReadKey(key, &out->key)) return PMIX_ERR_BAD_PARAM;
  const bool by_invalid_rank =
      proc != nullptr && proc->rank == PMIX_RANK_INVALID;
  if (by_invalid_rank && WantsOwnRank(session, proc, out->key)) proc = nullptr;
  const int rc = ResolveTarget(session, proc, &out->target);
  if (rc != PMIX_SUCCESS) return rc;
  return ParseGetOptions(info, ninfo, &out->options);
}

// Replaces the key by its stored name with the qualifiers; `name` holds the
// bytes. A directive of PMIx_Get that is marked as a qualifier narrows a search
// among puts; for reserved keys it stays a directive.
[[gnu::noinline, gnu::cold]] int Qualify(const pmix_info_t* info, size_t ninfo,
                                         Arguments* args, std::string* name) {
  if (args->key.empty()) return PMIX_ERR_NOT_SUPPORTED;
  const bool reserved = IsReserved(args->key);
  if (reserved && !IsOfProcess(args->key) && !args->options.narrowed) {
    return PMIX_SUCCESS;
  }
  *name = QualifiedNameOf(args->key, {info, ninfo});
  args->key = *name;
  args->of_reserved = reserved;
  return PMIX_SUCCESS;
}

bool IsSelf(const Session& session, const Target& target) {
  return target.rank == session.self().rank &&
         target.nspace == session.self().nspace;
}

inline bool CanAsk(Session& session, const GetOptions& options) {
  return !options.optional && !options.refresh && session.channel() != nullptr;
}

// Returns true if a get of a reserved key that was not found sends one request
// to the agent, although a get never waits for a reserved key. This holds for a
// key that processes provide themselves, and for qualified values of reserved
// keys, which the construct of a group provides even for this process.
bool AsksOnce(Session& session, const Arguments& args,
              const LookupResult& here) {
  return here.status == PMIX_ERR_NOT_FOUND &&
         (args.of_reserved || IsOfProcess(args.key)) &&
         CanAsk(session, args.options) && !args.options.immediate &&
         IsProcessRank(args.target.rank) &&
         (args.of_reserved || !IsSelf(session, args.target));
}

// Returns true if only the agent of the process knows all keys of the process,
// so that a get of all keys needs a request.
bool MustAsk(const Session& session, const Arguments& args) {
  return args.key.empty() && args.options.realm == Realm::kUnknown &&
         IsProcessRank(args.target.rank) && !IsSelf(session, args.target);
}

int CheckStorage(const Arguments& args, pmix_value_t** value) {
  if (value == nullptr) {
    // A refresh of all keys may be requested without storage for a result.
    return args.options.refresh && args.key.empty() ? PMIX_SUCCESS
                                                    : PMIX_ERR_BAD_PARAM;
  }
  if (args.options.static_values && *value == nullptr) {
    return PMIX_ERR_BAD_PARAM;
  }
  return PMIX_SUCCESS;
}

// Transfers *found to the caller in the form that the directives request.
int Deliver(Session& session, const Arguments& args, pmix_value_t* found,
            pmix_value_t** value) {
  if (value == nullptr) {
    DestructValue(found);
    return PMIX_SUCCESS;
  }
  if (args.options.static_values) {
    **value = *found;
    return PMIX_SUCCESS;
  }
  if (args.options.pointer_values) {
    *value = session.pointers().Keep(
        {std::string(args.target.nspace), args.target.rank}, args.key, found);
    return PMIX_SUCCESS;
  }
  auto* copy = static_cast<pmix_value_t*>(malloc(sizeof(pmix_value_t)));
  if (copy == nullptr) {
    DestructValue(found);
    return PMIX_ERR_NOMEM;
  }
  *copy = *found;
  *value = copy;
  return PMIX_SUCCESS;
}

bool IsOwnHost(const Session& session, std::string_view hostname) {
  pmix_value_t own = {};
  const Target self{session.self().nspace, session.self().rank};
  if (FindLocally(session, self, PMIX_HOSTNAME, {}, &own).status !=
      PMIX_SUCCESS) {
    return false;
  }
  return Value::Adopt(&own).AsString() == hostname;
}

// Looks for the node's devices, which this library detects itself. Values that
// were put under these keys have precedence.
bool FindDevices(const Session& session, const Arguments& args,
                 pmix_value_t* found) {
  if (!IsNodeKey(args.key)) return false;
  if (IsProcessRank(args.target.rank) && !IsSelf(session, args.target)) {
    return false;
  }
  DeviceQualifiers which{args.options.hostname, args.options.device_id,
                         args.options.device_name};
  if (IsOwnHost(session, which.hostname)) which.hostname = {};
  std::optional<Value> value = FindNodeKey(args.key, which);
  if (value) *found = value->Release();
  return value.has_value();
}

// Looks for the answer to an earlier query about this process and its job. The
// Standard requires that gets find what queries have found. The server's URI is
// excluded, because a tool may have another server by now.
bool FindQueried(Session& session, const Arguments& args, pmix_value_t* found) {
  const bool of_job = args.target.rank == kRankWildcard &&
                      args.target.nspace == session.self().nspace;
  if (!IsReserved(args.key) || args.options.realm != Realm::kUnknown ||
      args.options.refresh || !(of_job || IsSelf(session, args.target)) ||
      IsServerUri(session, args.target, args.key, args.options)) {
    return false;
  }
  std::optional<Value> value =
      session.query_cache().Find({std::string(args.key), ""});
  if (value) *found = value->Release();
  return value.has_value();
}

// Returns true if FindHere, a request of AsksOnce or FindServerUri may find a
// value that is not among the data of the process. All such keys are reserved.
bool HasOtherSources(const Arguments& args) {
  return args.of_reserved || IsReserved(args.key);
}

// Looks for data that no agent needs to send.
bool FindHere(Session& session, const Arguments& args, pmix_value_t* found) {
  return FindDevices(session, args, found) || FindQueried(session, args, found);
}

// Returns the result after a refresh. An agent without new data is not a
// failure, because the data that this process can read is current then.
int FindRefreshed(const Session& session, const Target& target,
                  std::string_view key, const GetOptions& options,
                  const Reply& reply, pmix_value_t* found) {
  if (reply.status == PMIX_ERR_NOT_FOUND) {
    return FindLocally(session, target, key, options, found).status;
  }
  return FindAfterReply(session, target, key, options, reply, found);
}

bool WantsRefresh(Session& session, const Arguments& args) {
  return args.options.refresh && session.channel() != nullptr &&
         !IsSelf(session, args.target);
}

int Refresh(Session& session, const Arguments& args, pmix_value_t* found) {
  const Reply reply = session.channel()->Call(
      FrameType::kGet, EncodeRefresh(args.target, args.options));
  return FindRefreshed(session, args.target, args.key, args.options, reply,
                       found);
}

int FindBlocking(Session& session, const Arguments& args, pmix_value_t* found) {
  if (WantsRefresh(session, args)) return Refresh(session, args, found);
  if (!MustAsk(session, args) || !CanAsk(session, args.options)) {
    const LookupResult here =
        FindLocally(session, args.target, args.key, args.options, found);
    if (here.status == PMIX_SUCCESS) return PMIX_SUCCESS;
    if (HasOtherSources(args)) {
      if (FindHere(session, args, found)) return PMIX_SUCCESS;
      if (AsksOnce(session, args, here)) return Refresh(session, args, found);
      if (here.status == PMIX_ERR_NOT_FOUND &&
          IsServerUri(session, args.target, args.key, args.options)) {
        return FindServerUri(session, args.key, args.options, found);
      }
    }
    if (!here.ask_agent || !CanAsk(session, args.options)) return here.status;
  }
  const Reply reply = session.channel()->Call(
      FrameType::kGet, EncodeGet(args.target, args.key, args.options));
  return FindAfterReply(session, args.target, args.key, args.options, reply,
                        found);
}

// A non-blocking request that waits for its answer.
struct AsyncGet {
  AsyncGet(Session* s, const Arguments& args, pmix_value_cbfunc_t f, void* d)
      : session(s),
        request(args.target, args.key, args.options),
        cbfunc(f),
        cbdata(d) {}
  ~AsyncGet() { DestructValue(&value); }
  AsyncGet(const AsyncGet&) = delete;
  AsyncGet& operator=(const AsyncGet&) = delete;

  Session* session;
  GetRequest request;
  pmix_value_cbfunc_t cbfunc;
  void* cbdata;
  pmix_value_t value = {};
};

void CallBack(AsyncGet& get, int status) {
  if (status != PMIX_SUCCESS) {
    get.cbfunc(status, nullptr, get.cbdata);
    return;
  }
  pmix_value_t* value = &get.value;
  if (get.request.options().pointer_values) {
    value = get.session->pointers().Keep(get.request.proc(), get.request.key(),
                                         value);
  }
  get.cbfunc(PMIX_SUCCESS, value, get.cbdata);
}

int AskAsync(const std::shared_ptr<AsyncGet>& get) {
  const ChannelRef channel = get->session->channel();
  const std::string frame = EncodeGet(get->request.target(), get->request.key(),
                                      get->request.options());
  return channel->CallAsync(FrameType::kGet, frame, [get](const Reply& reply) {
    const int status =
        FindAfterReply(*get->session, get->request.target(), get->request.key(),
                       get->request.options(), reply, &get->value);
    CallBack(*get, status);
  });
}

int RefreshAsync(const std::shared_ptr<AsyncGet>& get) {
  const ChannelRef channel = get->session->channel();
  const std::string frame =
      EncodeRefresh(get->request.target(), get->request.options());
  return channel->CallAsync(FrameType::kGet, frame, [get](const Reply& reply) {
    const int status =
        FindRefreshed(*get->session, get->request.target(), get->request.key(),
                      get->request.options(), reply, &get->value);
    CallBack(*get, status);
  });
}

int Get(Session& session, const Arguments& args, pmix_value_t** value) {
  int rc = CheckStorage(args, value);
  if (rc != PMIX_SUCCESS) return rc;
  pmix_value_t found = {};
  rc = FindBlocking(session, args, &found);
  return rc == PMIX_SUCCESS ? Deliver(session, args, &found, value) : rc;
}

int GetAsync(Session& session, const Arguments& args,
             pmix_value_cbfunc_t cbfunc, void* cbdata) {
  if (args.options.static_values) return PMIX_ERR_NOT_SUPPORTED;
  auto get = std::make_shared<AsyncGet>(&session, args, cbfunc, cbdata);
  if (WantsRefresh(session, args)) return RefreshAsync(get);
  if (!MustAsk(session, args) || !CanAsk(session, args.options)) {
    const LookupResult here =
        FindLocally(session, args.target, args.key, args.options, &get->value);
    const bool more = here.status != PMIX_SUCCESS && HasOtherSources(args);
    if (here.status == PMIX_SUCCESS ||
        (more && FindHere(session, args, &get->value))) {
      session.progress().Post([get] { CallBack(*get, PMIX_SUCCESS); });
      return PMIX_SUCCESS;
    }
    if (more && AsksOnce(session, args, here)) return RefreshAsync(get);
    if (more && here.status == PMIX_ERR_NOT_FOUND &&
        IsServerUri(session, args.target, args.key, args.options)) {
      return FindServerUriAsync(session, args.key, args.options,
                                [get](int status, pmix_value_t* value) {
                                  get->value = *value;
                                  CallBack(*get, status);
                                });
    }
    if (!here.ask_agent || !CanAsk(session, args.options)) {
      session.progress().Post(
          [get, status = here.status] { CallBack(*get, status); });
      return PMIX_SUCCESS;
    }
  }
  return AskAsync(get);
}

}  // namespace

int GetValue(Session& session, const pmix_proc_t* proc, const char* key,
             const pmix_info_t* info, size_t ninfo, pmix_value_t** value) {
  if (IsOfGroup(session, proc)) {
    return OfMember(session, *proc, [&](const pmix_proc_t* member) {
      return GetValue(session, member, key, info, ninfo, value);
    });
  }
  Arguments args;
  int rc = Parse(session, proc, key, info, ninfo, &args);
  std::string name;
  if (rc == PMIX_SUCCESS && args.options.qualified) {
    rc = Qualify(info, ninfo, &args, &name);
  }
  return rc == PMIX_SUCCESS ? Get(session, args, value) : rc;
}

int GetValueAsync(Session& session, const pmix_proc_t* proc, const char* key,
                  const pmix_info_t* info, size_t ninfo,
                  pmix_value_cbfunc_t cbfunc, void* cbdata) {
  if (cbfunc == nullptr) return PMIX_ERR_BAD_PARAM;
  if (IsOfGroup(session, proc)) {
    return OfMember(session, *proc, [&](const pmix_proc_t* member) {
      return GetValueAsync(session, member, key, info, ninfo, cbfunc, cbdata);
    });
  }
  Arguments args;
  int rc = Parse(session, proc, key, info, ninfo, &args);
  std::string name;
  if (rc == PMIX_SUCCESS && args.options.qualified) {
    rc = Qualify(info, ninfo, &args, &name);
  }
  return rc == PMIX_SUCCESS ? GetAsync(session, args, cbfunc, cbdata) : rc;
}

}  // namespace canopy::client
