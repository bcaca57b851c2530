#include "server/library/host_requests.h"

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "common/codec/decoder.h"
#include "common/codec/encoder.h"
#include "common/codec/infos.h"
#include "common/status.h"
#include "common/values/element_ops.h"
#include "common/values/info_list.h"
#include "common/values/memory.h"
#include "common/values/type_table.h"
#include "common/values/value.h"
#include "common/wire.h"
#include "pmix_common.h"

namespace canopy::library {
namespace {

// Of one request, in memory and in number.
constexpr size_t kMaxDecoded = size_t{64} << 20;
constexpr size_t kMaxElements = 4096;

// Elements of C that own what they hold.
template <typename T, pmix_data_type_t kType>
class Elements {
 public:
  Elements() = default;
  ~Elements() {
    for (T& one : all_) DestructElement(*FindType(kType), &one);
  }
  Elements(const Elements&) = delete;
  Elements& operator=(const Elements&) = delete;

  // SIZE n, then n of them.
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

std::string Encode(const InfoList& infos) {
  std::string out;
  if (infos.empty() ||
      EncodeInfos(infos.data(), infos.size(), &out) != PMIX_SUCCESS) {
    out.clear();
  }
  return out;
}

// SIZE n, then n PDATA.
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

void AddUser(const HostCaller& caller, InfoList* infos) {
  infos->Set(PMIX_USERID, Value::Uint32(caller.uid));
  infos->Set(PMIX_GRPID, Value::Uint32(caller.gid));
}

void AddRequestor(const HostCaller& caller, InfoList* infos) {
  infos->Set(PMIX_SPAWNED, Value::Bool(true));
  infos->Set(PMIX_PARENT_ID, Value::Proc(caller.proc));
  infos->Set(caller.is_tool ? PMIX_REQUESTOR_IS_TOOL : PMIX_REQUESTOR_IS_CLIENT,
             Value::Bool(true));
}

}  // namespace

// What a function of the host is given: it may read it until it answers.
struct HostRequests::Arguments {
  explicit Arguments(const HostCaller& caller) : proc(ToC(caller.proc)) {}

  void SetKeys(const std::vector<std::string>& names) {
    keys = names;
    for (std::string& key : keys) key_pointers.push_back(key.data());
    key_pointers.push_back(nullptr);
  }

  pmix_proc_t proc;
  std::vector<pmix_proc_t> targets;
  InfoList infos;
  InfoList directives;
  std::vector<std::string> keys;
  std::vector<char*> key_pointers;
  Elements<pmix_app_t, PMIX_APP> apps;
  Elements<pmix_query_t, PMIX_QUERY> queries;
  std::string bytes;
};

Upcalls::Done HostRequests::Reply(core::ClientId client,
                                  core::RequestId request) const {
  return [this, client, request](const HostAnswer& answer) {
    answer_(client, request, answer.status, Encode(answer.infos));
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
      Reply(in.client, in.request));
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
      });
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
      Reply(in.client, in.request));
}

// ------------------------------------------------------------ spawn, query ---

void HostRequests::Spawn(const HostCaller& caller,
                         const core::SpawnArrived& in) {
  auto a = std::make_shared<Arguments>(caller);
  if (module_->spawn == nullptr) return Refuse(in, kErrNotSupported);
  Decoder call(in.call.view());
  call.set_memory_limit(kMaxDecoded);
  if (!ReadInfos(&call, &a->infos) || !a->apps.Read(&call) || !call.done()) {
    return Refuse(in, kErrUnpackFailure);
  }
  AddUser(caller, &a->infos);
  AddRequestor(caller, &a->infos);
  upcalls_->Call(
      a,
      [&](void* cbdata) {
        return module_->spawn(&a->proc, a->infos.data(), a->infos.size(),
                              a->apps.data(), a->apps.size(), Upcalls::OnSpawn,
                              cbdata);
      },
      [this, client = in.client, request = in.request](HostAnswer answer) {
        answer_(client, request, answer.status, std::move(answer.nspace));
      });
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
      Reply(in.client, in.request));
}

// ------------------------------------------------------------- other calls ---

void HostRequests::Call(const HostCaller& caller,
                        const core::HostCallArrived& in) {
  switch (in.op) {
    case HostOp::kJobControl:
      return JobControl(caller, in);
    case HostOp::kAllocate:
      return Allocate(caller, in);
    case HostOp::kMonitor:
      return Monitor(caller, in);
    case HostOp::kLog:
      return Log(caller, in);
    case HostOp::kGetCredential:
      return GetCredential(caller, in);
    case HostOp::kValidateCredential:
      return Validate(caller, in);
    default:
      return Refuse(in, kErrNotSupported);
  }
}

void HostRequests::JobControl(const HostCaller& caller,
                              const core::HostCallArrived& in) {
  auto a = std::make_shared<Arguments>(caller);
  if (module_->job_control == nullptr) return Refuse(in, kErrNotSupported);
  if (!DecodeInfos(in.call.view(), &a->directives)) {
    return Refuse(in, kErrUnpackFailure);
  }
  AddUser(caller, &a->directives);
  for (const ProcId& proc : in.targets) a->targets.push_back(ToC(proc));
  upcalls_->Call(
      a,
      [&](void* cbdata) {
        return module_->job_control(
            &a->proc, a->targets.empty() ? nullptr : a->targets.data(),
            a->targets.size(), a->directives.data(), a->directives.size(),
            Upcalls::OnInfos, cbdata);
      },
      Reply(in.client, in.request));
}

void HostRequests::Allocate(const HostCaller& caller,
                            const core::HostCallArrived& in) {
  auto a = std::make_shared<Arguments>(caller);
  if (module_->allocate == nullptr) return Refuse(in, kErrNotSupported);
  WireReader call(in.call.view());
  const auto directive = static_cast<pmix_alloc_directive_t>(call.Uint());
  if (!DecodeInfos(call.String(), &a->infos) || !call.done()) {
    return Refuse(in, kErrUnpackFailure);
  }
  AddUser(caller, &a->infos);
  upcalls_->Call(
      a,
      [&](void* cbdata) {
        return module_->allocate(&a->proc, directive, a->infos.data(),
                                 a->infos.size(), Upcalls::OnInfos, cbdata);
      },
      Reply(in.client, in.request));
}

void HostRequests::Monitor(const HostCaller& caller,
                           const core::HostCallArrived& in) {
  auto a = std::make_shared<Arguments>(caller);
  if (module_->monitor == nullptr) return Refuse(in, kErrNotSupported);
  WireReader call(in.call.view());
  const bool what = DecodeInfos(call.String(), &a->infos);
  const auto error = static_cast<pmix_status_t>(call.Int());
  if (!what || a->infos.size() != 1 ||
      !DecodeInfos(call.String(), &a->directives) || !call.done()) {
    return Refuse(in, kErrUnpackFailure);
  }
  AddUser(caller, &a->directives);
  upcalls_->Call(
      a,
      [&](void* cbdata) {
        return module_->monitor(&a->proc, a->infos.data(), error,
                                a->directives.data(), a->directives.size(),
                                Upcalls::OnInfos, cbdata);
      },
      Reply(in.client, in.request));
}

// The older function cannot refuse.
void HostRequests::Log(const HostCaller& caller,
                       const core::HostCallArrived& in) {
  auto a = std::make_shared<Arguments>(caller);
  if (module_->log == nullptr && module_->log2 == nullptr) {
    return Refuse(in, kErrNotSupported);
  }
  WireReader call(in.call.view());
  if (!DecodeInfos(call.String(), &a->infos) ||
      !DecodeInfos(call.String(), &a->directives) || !call.done()) {
    return Refuse(in, kErrUnpackFailure);
  }
  AddUser(caller, &a->directives);
  upcalls_->Call(
      a,
      [&](void* cbdata) {
        if (module_->log2 != nullptr) {
          return module_->log2(&a->proc, a->infos.data(), a->infos.size(),
                               a->directives.data(), a->directives.size(),
                               Upcalls::OnOp, cbdata);
        }
        module_->log(&a->proc, a->infos.data(), a->infos.size(),
                     a->directives.data(), a->directives.size(), Upcalls::OnOp,
                     cbdata);
        return static_cast<pmix_status_t>(PMIX_SUCCESS);
      },
      Reply(in.client, in.request));
}

void HostRequests::GetCredential(const HostCaller& caller,
                                 const core::HostCallArrived& in) {
  auto a = std::make_shared<Arguments>(caller);
  if (module_->get_credential == nullptr) return Refuse(in, kErrNotSupported);
  if (!DecodeInfos(in.call.view(), &a->directives)) {
    return Refuse(in, kErrUnpackFailure);
  }
  AddUser(caller, &a->directives);
  upcalls_->Call(
      a,
      [&](void* cbdata) {
        return module_->get_credential(&a->proc, a->directives.data(),
                                       a->directives.size(),
                                       Upcalls::OnCredential, cbdata);
      },
      [this, client = in.client, request = in.request](HostAnswer answer) {
        if (answer.status == kSuccess) {
          answer.infos.Set(PMIX_CREDENTIAL, Value::ByteObject(answer.data));
        }
        answer_(client, request, answer.status, Encode(answer.infos));
      });
}

void HostRequests::Validate(const HostCaller& caller,
                            const core::HostCallArrived& in) {
  auto a = std::make_shared<Arguments>(caller);
  if (module_->validate_credential == nullptr)
    return Refuse(in, kErrNotSupported);
  WireReader call(in.call.view());
  a->bytes = call.String();
  if (!DecodeInfos(call.String(), &a->directives) || !call.done()) {
    return Refuse(in, kErrUnpackFailure);
  }
  AddUser(caller, &a->directives);
  upcalls_->Call(
      a,
      [&](void* cbdata) {
        const pmix_byte_object_t credential = {a->bytes.data(),
                                               a->bytes.size()};
        return module_->validate_credential(
            &a->proc, &credential, a->directives.data(), a->directives.size(),
            Upcalls::OnValidation, cbdata);
      },
      Reply(in.client, in.request));
}

}  // namespace canopy::library
