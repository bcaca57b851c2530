#include "server/library/host_requests.h"

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "common/codec/decoder.h"
#include "common/codec/encoder.h"
#include "common/codec/infos.h"
#include "common/iof_call.h"
#include "common/status.h"
#include "common/values/element_ops.h"
#include "common/values/info_list.h"
#include "common/values/memory.h"
#include "common/values/type_table.h"
#include "common/values/value.h"
#include "pmix_common.h"

namespace canopy::library {
namespace {

// The limits of one request: decoded bytes, and number of elements.
constexpr size_t kMaxDecoded = size_t{64} << 20;
constexpr size_t kMaxElements = 4096;

// An array of C structures that owns their contents.
template <typename T, pmix_data_type_t kType>
class Elements {
 public:
  Elements() = default;
  ~Elements() {
    for (T& one : all_) DestructElement(*FindType(kType), &one);
  }
  Elements(const Elements&) = delete;
  Elements& operator=(const Elements&) = delete;

  // Reads SIZE n, then n elements.
  bool Read(Decoder* in) {
    size_t count = 0;
    if (!in->GetSize(&count) || count > kMaxElements) return false;
    for (size_t i = 0; i < count; ++i) {
      all_.emplace_back();
      if (!in->GetElement(kType, &all_.back())) return false;
    }
    return true;
  }
  T* data() { return all_.data(); }
  size_t size() const { return all_.size(); }

 private:
  std::vector<T> all_;
};

bool ReadInfos(Decoder* in, InfoList* infos) {
  size_t count = 0;
  if (!in->GetSize(&count) || count > kMaxElements) return false;
  for (size_t i = 0; i < count; ++i) {
    pmix_info_t info = {};
    if (!in->GetInfo(&info)) return false;
    infos->Adopt(&info);
  }
  return true;
}

// Encodes the entries as SIZE n, then n PDATA.
std::string Encode(const std::vector<HostAnswer::Found>& found) {
  Encoder out;
  out.PutSize(found.size());
  for (const HostAnswer::Found& one : found) {
    out.PutProc(one.publisher);
    out.PutString(one.key);
    out.PutValue(one.value.raw());
  }
  return out.Take();
}

void AddRequestor(const HostCaller& caller, InfoList* infos) {
  infos->Set(PMIX_SPAWNED, Value::Bool(true));
  infos->Set(PMIX_PARENT_ID, Value::Proc(caller.proc));
  infos->Set(caller.is_tool ? PMIX_REQUESTOR_IS_TOOL : PMIX_REQUESTOR_IS_CLIENT,
             Value::Bool(true));
}

}  // namespace

// The arguments of a host's function, which may read them until it answers.
struct HostRequests::Arguments {
  explicit Arguments(const HostCaller& caller) : proc(ToC(caller.proc)) {}

  void SetKeys(const std::vector<std::string>& names) {
    keys = names;
    for (std::string& key : keys) key_pointers.push_back(key.data());
    key_pointers.push_back(nullptr);
  }

  pmix_proc_t proc;
  InfoList infos;
  std::vector<std::string> keys;
  std::vector<char*> key_pointers;
  std::vector<pmix_proc_t> targets;
  std::string input;
  Elements<pmix_app_t, PMIX_APP> apps;
  Elements<pmix_query_t, PMIX_QUERY> queries;
};

Upcalls::Done HostRequests::Reply(core::ClientId client,
                                  core::RequestId request) const {
  return [this, client, request](const HostAnswer& answer) {
    answer_(client, request, answer.status, EncodeResults(answer.infos));
  };
}

template <typename Arrived>
void HostRequests::Refuse(const Arrived& in, int status) const {
  answer_(in.client, in.request, status, "");
}

// -------------------------------------------------------------- publishing ---

void HostRequests::Publish(const HostCaller& caller,
                           const core::PublishArrived& in) {
  auto a = std::make_shared<Arguments>(caller);
  if (module_->publish == nullptr) return Refuse(in, kErrNotSupported);
  if (!DecodeInfos(in.info.view(), &a->infos)) {
    return Refuse(in, kErrUnpackFailure);
  }
  AddUser(caller, &a->infos);
  upcalls_->Call(
      a,
      [&](void* cbdata) {
        return module_->publish(&a->proc, a->infos.data(), a->infos.size(),
                                Upcalls::OnOp, cbdata);
      },
      Reply(in.client, in.request), TimeoutOf(a->infos));
}

void HostRequests::Lookup(const HostCaller& caller,
                          const core::LookupArrived& in) {
  auto a = std::make_shared<Arguments>(caller);
  if (module_->lookup == nullptr) return Refuse(in, kErrNotSupported);
  if (!DecodeInfos(in.info.view(), &a->infos)) {
    return Refuse(in, kErrUnpackFailure);
  }
  AddUser(caller, &a->infos);
  a->SetKeys(in.keys);
  upcalls_->Call(
      a,
      [&](void* cbdata) {
        return module_->lookup(&a->proc, a->key_pointers.data(),
                               a->infos.data(), a->infos.size(),
                               Upcalls::OnLookup, cbdata);
      },
      [this, client = in.client, request = in.request](HostAnswer answer) {
        answer_(client, request, answer.status, Encode(answer.found));
      },
      TimeoutOf(a->infos));
}

void HostRequests::Unpublish(const HostCaller& caller,
                             const core::UnpublishArrived& in) {
  auto a = std::make_shared<Arguments>(caller);
  if (module_->unpublish == nullptr) return Refuse(in, kErrNotSupported);
  if (!DecodeInfos(in.info.view(), &a->infos)) {
    return Refuse(in, kErrUnpackFailure);
  }
  AddUser(caller, &a->infos);
  a->SetKeys(in.keys);
  upcalls_->Call(
      a,
      [&](void* cbdata) {
        return module_->unpublish(
            &a->proc, a->keys.empty() ? nullptr : a->key_pointers.data(),
            a->infos.data(), a->infos.size(), Upcalls::OnOp, cbdata);
      },
      Reply(in.client, in.request), TimeoutOf(a->infos));
}

// ------------------------------------------------------------ spawn, query ---

void HostRequests::Spawn(const HostCaller& caller,
                         const core::SpawnArrived& in) {
  const auto a = std::make_shared<Arguments>(caller);
  if (module_->spawn == nullptr) return Refuse(in, kErrNotSupported);
  if (!ReadSpawn(in.call, a.get())) return Refuse(in, kErrUnpackFailure);
  AddUser(caller, &a->infos);
  AddRequestor(caller, &a->infos);
  CallSpawn(a, [this, client = in.client, request = in.request](
                   int status, const std::string& nspace) {
    answer_(client, request, status, nspace);
  });
}

void HostRequests::SpawnForHost(const ProcId& self, const Bytes& call,
                                Spawned done) {
  const auto a = std::make_shared<Arguments>(HostCaller{self});
  if (module_->spawn == nullptr) return done(kErrNotSupported, "");
  if (!ReadSpawn(call, a.get())) return done(kErrUnpackFailure, "");
  CallSpawn(a, std::move(done));
}

bool HostRequests::ReadSpawn(const Bytes& call, Arguments* a) {
  Decoder in(call.view());
  in.set_memory_limit(kMaxDecoded);
  return ReadInfos(&in, &a->infos) && a->apps.Read(&in) && in.done();
}

void HostRequests::CallSpawn(const Shared& a, Spawned done) {
  upcalls_->Call(
      a,
      [&](void* cbdata) {
        return module_->spawn(&a->proc, a->infos.data(), a->infos.size(),
                              a->apps.data(), a->apps.size(), Upcalls::OnSpawn,
                              cbdata);
      },
      [done = std::move(done)](const HostAnswer& answer) {
        const bool nameless =
            answer.status == kSuccess && answer.nspace.empty();
        done(nameless ? kErrUnpackFailure : answer.status, answer.nspace);
      },
      TimeoutOf(a->infos));
}

void HostRequests::Query(const HostCaller& caller,
                         const core::QueryArrived& in) {
  auto a = std::make_shared<Arguments>(caller);
  Decoder queries(in.queries.view());
  queries.set_memory_limit(kMaxDecoded);
  if (!a->queries.Read(&queries) || !queries.done()) {
    return Refuse(in, kErrUnpackFailure);
  }
  upcalls_->Call(
      a,
      [&](void* cbdata) {
        return module_->query(&a->proc, a->queries.data(), a->queries.size(),
                              Upcalls::OnInfos, cbdata);
      },
      Reply(in.client, in.request), TimeoutOf(a->infos));
}

// ------------------------------------------------------------ job control ---

void HostRequests::ControlJob(const HostCaller& caller,
                              const core::HostCallArrived& in) {
  core::AskHost ask;
  ask.op = in.op;
  ask.source = caller.proc;
  ask.uid = caller.uid;
  ask.gid = caller.gid;
  ask.targets = in.targets;
  ask.call = in.call;
  const int status =
      calls_.Call(ask, [this, client = in.client, request = in.request](
                           int answer, std::string results) {
        answer_(client, request, answer, std::move(results));
      });
  if (status != kSuccess) Refuse(in, status);
}

// ------------------------------------------------------------------ input ---

void HostRequests::PushInput(const HostCaller& caller,
                             const core::HostCallArrived& in) {
  auto a = std::make_shared<Arguments>(caller);
  if (module_->push_stdin == nullptr) return Refuse(in, kErrNotSupported);
  InputPush push;
  if (!wire::Decode(in.call, &push) || push.empty() || in.targets.empty()) {
    return Refuse(in, kErrUnpackFailure);
  }
  for (const ProcId& proc : in.targets) a->targets.push_back(ToC(proc));
  a->input = std::string(push.data.view());
  AddUser(caller, &a->infos);
  if (push.complete) a->infos.Set(PMIX_IOF_COMPLETE, Value::Bool(true));
  upcalls_->Call(
      a,
      [&](void* cbdata) {
        const pmix_byte_object_t bytes = {a->input.data(), a->input.size()};
        return module_->push_stdin(
            &a->proc, a->targets.data(), a->targets.size(), a->infos.data(),
            a->infos.size(), &bytes, Upcalls::OnOp, cbdata);
      },
      Reply(in.client, in.request), TimeoutOf(a->infos));
}

}  // namespace canopy::library
