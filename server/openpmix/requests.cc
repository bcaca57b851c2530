#include "server/openpmix/requests.h"

#include <algorithm>
#include <climits>
#include <iterator>
#include <utility>

#include "common/codec/decoder.h"
#include "common/codec/encoder.h"
#include "common/codec/infos.h"
#include "common/codec/transcode.h"
#include "common/host_op.h"
#include "common/iof_call.h"
#include "common/values/element_ops.h"
#include "common/values/type_table.h"
#include "common/values/value.h"
#include "common/wire.h"
#include "pmix_common.h"
#include "server/openpmix/kvals.h"
#include "server/openpmix/message_parts.h"
#include "server/openpmix/qualified.h"

namespace canopy::openpmix {
namespace {

// In memory these are many times larger than on the wire.
constexpr size_t kMaxProcs = 1 << 20;
constexpr size_t kMaxCodes = 1 << 16;
constexpr size_t kMaxQueries = 1 << 12;
constexpr size_t kMaxApps = 1 << 10;
constexpr size_t kMaxKeys = 1 << 12;
constexpr size_t kMaxUnits = 1 << 12;
constexpr size_t kMaxText = 64 << 10;
constexpr size_t kDecodedBytes = size_t{256} << 20;
constexpr uint64_t kMaxTimeoutSeconds = UINT32_MAX / 1000;

// One message while it is read.
struct Reading {
  const Requester& requester;
  uint32_t tag;
  Decoder in;
};

bool ReadProcs(Decoder& in, std::vector<ProcId>* procs) {
  size_t n = 0;
  if (!in.UnpackSize(&n)) return false;
  if (n > kMaxProcs) return in.Fail(kErrOutOfResource);
  if (!in.UnpackProcs(n, procs)) return false;
  for (const ProcId& proc : *procs) {
    if (proc.nspace.size() > kMaxNspaceLen) return in.Fail(kErrUnpackFailure);
  }
  return true;
}

bool ReadText(Decoder& in, size_t limit, std::string* text) {
  std::string_view view;
  if (!in.UnpackString(&view)) return false;
  if (view.size() > limit) return in.Fail(kErrUnpackFailure);
  *text = view;
  return true;
}

// One BYTE_OBJECT; the view is into the message.
bool ReadBytes(Decoder& in, std::string_view* bytes) {
  size_t count = 0;
  if (!in.UnpackCount(PMIX_BYTE_OBJECT, &count)) return false;
  return count == 1 ? in.GetBytes(bytes) : in.Fail(kErrUnpackFailure);
}

// The infos in our form, for the core.
bool OurForm(Decoder& in, const InfoList& infos, Bytes* out) {
  std::string encoded;
  const int code = EncodeInfos(infos.data(), infos.size(), &encoded);
  if (code != kSuccess) return in.Fail(code);
  *out = Bytes(std::move(encoded));
  return true;
}

uint32_t TimeoutMs(const InfoList& infos) {
  const uint64_t seconds = infos.FindUint(PMIX_TIMEOUT).value_or(0);
  return static_cast<uint32_t>(std::min(seconds, kMaxTimeoutSeconds) * 1000);
}

bool FlagIn(const InfoList& infos, const char* key) {
  return infos.Has(key) && infos.FindBool(key).value_or(false);
}

bool HasQualifier(const InfoList& infos) {
  return std::ranges::any_of(infos, [](const pmix_info_t& info) {
    return (info.flags & PMIX_INFO_QUALIFIER) != 0;
  });
}

// --------------------------------------------------------------- parsers ---

Request ReadJobInfo(Reading&) { return JobInfoRequest{}; }

Request ReadAbort(Reading& r) {
  core::AbortArrived input;
  input.client = r.requester.client;
  input.request = r.tag;
  r.in.UnpackStatus(&input.status);
  ReadText(r.in, kMaxText, &input.text);
  ReadProcs(r.in, &input.targets);
  return CoreRequest{std::move(input)};
}

bool ReadScope(Decoder& in, core::ScopedData* data) {
  uint8_t scope = 0;
  std::string_view payload;
  CodecForm form;
  if (!in.UnpackByte(PMIX_SCOPE, &scope) || !in.UnpackBuffer(&payload, &form)) {
    return false;
  }
  // The deletion of keys is told by scopes above these.
  if (scope < PMIX_LOCAL || scope > PMIX_GLOBAL) {
    return in.Fail(kErrNotSupported);
  }
  data->scope = static_cast<core::Scope>(scope);
  Decoder nested(payload, form);
  std::string kvals;
  const int code = ReadKvals(&nested, &kvals);
  if (code != kSuccess) return in.Fail(code);
  data->kvals = Bytes(std::move(kvals));
  return true;
}

Request ReadCommit(Reading& r) {
  core::Committed input;
  input.client = r.requester.client;
  input.request = r.tag;
  while (!r.in.AtEnd() && r.in.ok()) {
    core::ScopedData data;
    if (!ReadScope(r.in, &data)) break;
    input.data.push_back(std::move(data));
  }
  return CoreRequest{std::move(input)};
}

CoreRequest ReadCollective(Reading& r, core::CollectiveOp op,
                           AnswerForm answer) {
  core::CollectiveArrived input;
  input.client = r.requester.client;
  input.request = r.tag;
  input.op = op;
  InfoList infos;
  ReadProcs(r.in, &input.participants);
  r.in.UnpackCountedInfos(&infos);
  input.collect_data = FlagIn(infos, PMIX_COLLECT_DATA);
  input.timeout_ms = TimeoutMs(infos);
  OurForm(r.in, infos, &input.info);
  return {std::move(input), answer};
}

Request ReadFence(Reading& r) {
  return ReadCollective(r, core::CollectiveOp::kFence, AnswerForm::kStatus);
}

// Newer peers add data of theirs, which the agents have already.
Request ReadConnect(Reading& r) {
  return ReadCollective(r, core::CollectiveOp::kConnect, AnswerForm::kConnect);
}

Request ReadDisconnect(Reading& r) {
  return ReadCollective(r, core::CollectiveOp::kDisconnect,
                        AnswerForm::kStatus);
}

// Newer peers add their committed data to the infos, which the agents have.
Request ReadGroupConstruct(Reading& r) {
  core::CollectiveArrived input;
  ReadText(r.in, kMaxNspaceLen, &input.name);
  CoreRequest request = ReadCollective(r, core::CollectiveOp::kGroupConstruct,
                                       AnswerForm::kGroup);
  auto& read = std::get<core::CollectiveArrived>(request.input);
  read.name = std::move(input.name);
  return request;
}

// Of whom a group was made, its construction says: some peers name its members
// here, others nobody.
Request ReadGroupDestruct(Reading& r) {
  core::CollectiveArrived input;
  input.client = r.requester.client;
  input.request = r.tag;
  input.op = core::CollectiveOp::kGroupDestruct;
  ReadText(r.in, kMaxNspaceLen, &input.name);
  std::vector<ProcId> members;
  if (r.requester.traits.group_destruct_has_procs) ReadProcs(r.in, &members);
  InfoList infos;
  r.in.UnpackCountedInfos(&infos);
  input.timeout_ms = TimeoutMs(infos);
  OurForm(r.in, infos, &input.info);
  return CoreRequest{std::move(input)};
}

Request ReadGroupLeave(Reading& r) {
  core::GroupCallArrived input;
  input.client = r.requester.client;
  input.request = r.tag;
  input.call = core::GroupCallArrived::Call::kLeave;
  ReadText(r.in, kMaxNspaceLen, &input.name);
  InfoList infos;
  r.in.UnpackCountedInfos(&infos);
  OurForm(r.in, infos, &input.info);
  return CoreRequest{std::move(input)};
}

Request ReadGet(Reading& r) {
  core::GetArrived input;
  input.client = r.requester.client;
  input.request = r.tag;
  InfoList infos;
  ReadText(r.in, kMaxNspaceLen, &input.target.nspace);
  r.in.UnpackRank(&input.target.rank);
  r.in.UnpackCountedInfos(&infos);
  if (!r.in.AtEnd()) ReadText(r.in, kMaxKeyLen, &input.key);
  if (HasQualifier(infos)) input.key = QualifiedKey(input.key);
  input.immediate = FlagIn(infos, PMIX_IMMEDIATE);
  input.refresh = FlagIn(infos, PMIX_GET_REFRESH_CACHE);
  input.timeout_ms = TimeoutMs(infos);
  return CoreRequest{std::move(input), AnswerForm::kGet};
}

Request ReadRefresh(Reading& r) {
  core::GetArrived input;
  input.client = r.requester.client;
  input.request = r.tag;
  input.refresh = true;
  ReadText(r.in, kMaxNspaceLen, &input.target.nspace);
  r.in.UnpackRank(&input.target.rank);
  return CoreRequest{std::move(input), AnswerForm::kRefresh};
}

// Plain, as many peers cannot read a compressed string.
bool Inflate(Decoder& in, InfoList* infos) {
  for (size_t i = 0; i < infos->size(); ++i) {
    pmix_value_t& value = infos->mutable_data()[i].value;
    const auto plain = InflateString(EncodeValue(value));
    if (!plain) continue;
    Result<Value> text = DecodeValue(*plain);
    if (!text.ok()) return in.Fail(text.code());
    Value::Adopt(&value);
    value = text->Release();
  }
  return true;
}

// The user that a peer claims to be says nothing.
void SkipUser(Decoder& in) {
  uint32_t user = 0;
  size_t count = 0;
  in.UnpackElements(PMIX_UINT32, 1, &user, &count);
}

void ReadKeys(Decoder& in, std::vector<std::string>* keys) {
  size_t n = 0;
  in.UnpackSize(&n);
  if (n > kMaxKeys) in.Fail(kErrOutOfResource);
  for (size_t i = 0; i < n && in.ok(); ++i) {
    ReadText(in, kMaxKeyLen, &keys->emplace_back());
  }
}

Request ReadPublish(Reading& r) {
  core::PublishArrived input;
  input.client = r.requester.client;
  input.request = r.tag;
  InfoList infos;
  SkipUser(r.in);
  if (r.in.UnpackCountedInfos(&infos) && Inflate(r.in, &infos)) {
    OurForm(r.in, infos, &input.info);
  }
  return CoreRequest{std::move(input)};
}

// PMIx_Lookup and PMIx_Unpublish.
template <typename Input>
Request ReadOfKeys(Reading& r, AnswerForm answer) {
  Input input;
  input.client = r.requester.client;
  input.request = r.tag;
  InfoList infos;
  SkipUser(r.in);
  ReadKeys(r.in, &input.keys);
  if (r.in.UnpackCountedInfos(&infos)) OurForm(r.in, infos, &input.info);
  return CoreRequest{std::move(input), answer};
}

Request ReadLookup(Reading& r) {
  return ReadOfKeys<core::LookupArrived>(r, AnswerForm::kFound);
}

Request ReadUnpublish(Reading& r) {
  return ReadOfKeys<core::UnpublishArrived>(r, AnswerForm::kStatus);
}

Request ReadFinalize(Reading& r) {
  return CoreRequest{core::FinalizeArrived{r.requester.client, r.tag}};
}

std::vector<ProcId> ReceiversIn(const InfoList& infos) {
  std::vector<ProcId> receivers;
  const pmix_info_t* info = infos.Find(PMIX_EVENT_CUSTOM_RANGE);
  if (info == nullptr) return receivers;
  if (const auto proc = ProcOf(info->value)) receivers.push_back(*proc);
  if (const auto procs = ProcsOf(info->value)) {
    for (const pmix_proc_t& proc : *procs) receivers.push_back(FromC(proc));
  }
  return receivers;
}

Request ReadNotify(Reading& r) {
  core::EventRaised input;
  input.client = r.requester.client;
  input.request = r.tag;
  // As a recovered connection keeps its number, and no later one has the same.
  input.id = r.requester.client << 32 | r.tag;
  input.source = r.requester.proc;
  InfoList infos;
  r.in.UnpackStatus(&input.status);
  r.in.UnpackByte(PMIX_DATA_RANGE, &input.range);
  r.in.UnpackCountedInfos(&infos);
  input.targets = ReceiversIn(infos);
  OurForm(r.in, infos, &input.info);
  return CoreRequest{std::move(input)};
}

Request ReadEventsWanted(Reading& r) {
  core::EventsWanted input;
  input.client = r.requester.client;
  input.request = r.tag;
  size_t n = 0;
  size_t count = 0;
  r.in.UnpackSize(&n);
  input.all = n == 0;
  if (n > kMaxCodes) r.in.Fail(kErrOutOfResource);
  if (n > 0 && r.in.UnpackCount(PMIX_STATUS, &count) && count != n) {
    r.in.Fail(kErrUnpackFailure);
  }
  for (size_t i = 0; i < n && r.in.ok(); ++i) {
    int32_t code = 0;
    if (r.in.GetInt32(&code)) input.codes.push_back(code);
  }
  // The peer's own library applies what the infos ask for.
  InfoList infos;
  r.in.UnpackCountedInfos(&infos);
  return CoreRequest{std::move(input)};
}

Request ReadEventsUnwanted(Reading& r) {
  core::EventsUnwanted input;
  input.client = r.requester.client;
  while (!r.in.AtEnd() && r.in.ok()) {
    pmix_status_t code = 0;
    if (!r.in.UnpackStatus(&code)) break;
    if (input.codes.size() >= kMaxCodes) r.in.Fail(kErrOutOfResource);
    if (code == INT_MIN) {
      input.all = true;
    } else {
      input.codes.push_back(code);
    }
  }
  return CoreRequest{std::move(input), AnswerForm::kNone};
}

// Applications as C has them, freed with it.
class CApps {
 public:
  explicit CApps(size_t count)
      : count_(count), apps_(NewElements(*FindType(PMIX_APP), count)) {}
  CApps(const CApps&) = delete;
  CApps& operator=(const CApps&) = delete;
  ~CApps() { FreeElements(*FindType(PMIX_APP), apps_, count_); }

  pmix_app_t* get() { return static_cast<pmix_app_t*>(apps_); }

 private:
  const size_t count_;
  void* const apps_;
};

// SIZE n and one call of n applications, in our form behind what `out` has.
bool ReadApps(Decoder& in, Encoder* out) {
  size_t n = 0;
  size_t count = 0;
  if (!in.UnpackSize(&n)) return false;
  if (n > kMaxApps) return in.Fail(kErrOutOfResource);
  out->PutSize(n);
  if (n == 0) return true;
  CApps apps(n);
  if (apps.get() == nullptr) return in.Fail(kErrNomem);
  if (!in.UnpackElements(PMIX_APP, n, apps.get(), &count)) return false;
  if (count != n) return in.Fail(kErrUnpackFailure);
  for (size_t i = 0; i < n; ++i) out->PutElement(PMIX_APP, apps.get() + i);
  return true;
}

// A tag is unique in its connection only, and a process that initializes again
// has another one.
core::RequestId RequestOf(core::ClientId client, uint32_t tag) {
  return (client << 32) | tag;
}

Request ReadSpawn(Reading& r) {
  core::SpawnArrived input;
  input.client = r.requester.client;
  input.request = RequestOf(r.requester.client, r.tag);
  InfoList infos;
  if (!r.in.UnpackCountedInfos(&infos)) return RefusedRequest{};
  Encoder out;
  out.PutSize(infos.size());
  for (const pmix_info_t& info : infos) out.PutInfo(info);
  if (!ReadApps(r.in, &out)) return RefusedRequest{};
  if (!out.ok()) return RefusedRequest{out.status().code()};
  input.call = Bytes(out.Take());
  return CoreRequest{std::move(input), AnswerForm::kSpawn};
}

core::HostCallArrived HostCall(const Reading& r, HostOp op) {
  core::HostCallArrived input;
  input.client = r.requester.client;
  input.request = RequestOf(r.requester.client, r.tag);
  input.op = op;
  return input;
}

// SIZE n and n INFO, in our form behind what `out` has.
bool ReadInfos(Decoder& in, WireWriter* out) {
  InfoList infos;
  Bytes ours;
  if (!in.UnpackCountedInfos(&infos) || !OurForm(in, infos, &ours)) {
    return false;
  }
  out->String(ours.view());
  return true;
}

Request ReadGetCredential(Reading& r) {
  core::HostCallArrived input = HostCall(r, HostOp::kGetCredential);
  InfoList infos;
  r.in.UnpackCountedInfos(&infos);
  OurForm(r.in, infos, &input.call);
  return CoreRequest{std::move(input), AnswerForm::kCredential};
}

Request ReadValidateCredential(Reading& r) {
  core::HostCallArrived input = HostCall(r, HostOp::kValidateCredential);
  std::string_view credential;
  WireWriter call;
  ReadBytes(r.in, &credential);
  call.String(credential);
  ReadInfos(r.in, &call);
  input.call = Bytes(call.Take());
  return CoreRequest{std::move(input), AnswerForm::kInfos};
}

Request ReadMonitor(Reading& r) {
  core::HostCallArrived input = HostCall(r, HostOp::kMonitor);
  InfoList what;
  pmix_status_t error = 0;
  InfoList with;
  Bytes encoded[2];
  r.in.UnpackInfos(1, &what);
  r.in.UnpackStatus(&error);
  r.in.UnpackCountedInfos(&with);
  OurForm(r.in, what, &encoded[0]);
  OurForm(r.in, with, &encoded[1]);
  WireWriter call;
  call.String(encoded[0].view());
  call.Int(error);
  call.String(encoded[1].view());
  input.call = Bytes(call.Take());
  return CoreRequest{std::move(input), AnswerForm::kInfos};
}

Request ReadJobControl(Reading& r) {
  core::HostCallArrived input = HostCall(r, HostOp::kJobControl);
  InfoList infos;
  ReadProcs(r.in, &input.targets);
  r.in.UnpackCountedInfos(&infos);
  OurForm(r.in, infos, &input.call);
  return CoreRequest{std::move(input), AnswerForm::kInfos};
}

Request ReadAllocate(Reading& r) {
  core::HostCallArrived input = HostCall(r, HostOp::kAllocate);
  uint8_t directive = 0;
  WireWriter call;
  r.in.UnpackByte(PMIX_ALLOC_DIRECTIVE, &directive);
  call.Uint(directive);
  ReadInfos(r.in, &call);
  input.call = Bytes(call.Take());
  return CoreRequest{std::move(input), AnswerForm::kInfos};
}

Request ReadSessionControl(Reading& r) {
  core::HostCallArrived input = HostCall(r, HostOp::kControlSession);
  uint32_t session = 0;
  size_t count = 0;
  WireWriter call;
  r.in.UnpackElements(PMIX_UINT32, 1, &session, &count);
  call.Uint(session);
  ReadInfos(r.in, &call);
  input.call = Bytes(call.Take());
  return CoreRequest{std::move(input), AnswerForm::kInfos};
}

// SIZE n and n units, behind what `out` has.
bool ReadUnits(Decoder& in, WireWriter* out) {
  size_t n = 0;
  size_t count = 0;
  if (!in.UnpackSize(&n)) return false;
  if (n > kMaxUnits) return in.Fail(kErrOutOfResource);
  std::vector<pmix_resource_unit_t> units(n);
  if (n > 0 &&
      !in.UnpackElements(PMIX_RESOURCE_UNIT, n, units.data(), &count)) {
    return false;
  }
  if (count != n) return in.Fail(kErrUnpackFailure);
  out->Uint(n);
  for (const pmix_resource_unit_t& unit : units) {
    out->Uint(unit.type);
    out->Uint(unit.count);
  }
  return true;
}

Request ReadResourceBlock(Reading& r) {
  core::HostCallArrived input = HostCall(r, HostOp::kBlockResources);
  uint8_t directive = 0;
  std::string name;
  WireWriter call;
  r.in.UnpackByte(PMIX_RESBLOCK_DIRECTIVE, &directive);
  ReadText(r.in, kMaxText, &name);
  call.Uint(directive);
  call.String(name);
  if (r.in.ok() && ReadUnits(r.in, &call)) ReadInfos(r.in, &call);
  input.call = Bytes(call.Take());
  return CoreRequest{std::move(input)};
}

bool ReadHandle(Decoder& in, uint64_t* handle) {
  size_t number = 0;
  if (!in.UnpackSize(&number)) return false;
  *handle = number;
  return true;
}

Request ReadPull(Reading& r) {
  PullRequest request;
  size_t count = 0;
  ReadProcs(r.in, &request.procs);
  r.in.UnpackCountedInfos(&request.infos);
  r.in.UnpackElements(PMIX_IOF_CHANNEL, 1, &request.channels, &count);
  if (r.in.ok() && count != 1) r.in.Fail(kErrUnpackFailure);
  if (r.requester.traits.iof_pull_has_handle) ReadHandle(r.in, &request.handle);
  return request;
}

// Without bytes and without an end it is refused.
Request ReadPush(Reading& r) {
  core::HostCallArrived input = HostCall(r, HostOp::kPushInput);
  InfoList infos;
  std::string_view bytes;
  ReadProcs(r.in, &input.targets);
  r.in.UnpackCountedInfos(&infos);
  ReadBytes(r.in, &bytes);
  input.call = Bytes(EncodeInputPush(
      {Bytes(std::string(bytes)), FlagIn(infos, PMIX_IOF_COMPLETE)}));
  return CoreRequest{std::move(input)};
}

Request ReadStopPull(Reading& r) {
  StopPullRequest request;
  InfoList infos;
  r.in.UnpackCountedInfos(&infos);
  ReadHandle(r.in, &request.handle);
  return request;
}

bool ReadOneQuery(Decoder& in, Encoder* out) {
  int32_t keys = 0;
  size_t qualifiers = 0;
  if (!in.GetInt32(&keys)) return false;
  if (keys < 0 || static_cast<size_t>(keys) > kMaxQueries) {
    return in.Fail(kErrUnpackFailure);
  }
  out->PutInt32(keys);
  for (int32_t i = 0; i < keys; ++i) {
    std::string_view key;
    if (!in.GetString(&key)) return false;
    out->PutString(key);
  }
  if (!in.GetSize(&qualifiers)) return false;
  if (qualifiers > kMaxQueries) return in.Fail(kErrUnpackFailure);
  out->PutSize(qualifiers);
  InfoList read;
  for (size_t i = 0; i < qualifiers; ++i) {
    pmix_info_t info;
    if (!in.GetInfo(&info)) return false;
    read.Adopt(&info);
  }
  for (const pmix_info_t& info : read) out->PutInfo(info);
  return true;
}

Request ReadQuery(Reading& r) {
  core::QueryArrived input;
  input.client = r.requester.client;
  input.request = r.tag;
  size_t n = 0;
  size_t count = 0;
  Encoder out;
  r.in.UnpackSize(&n);
  if (n > kMaxQueries) r.in.Fail(kErrOutOfResource);
  if (n > 0 && r.in.UnpackCount(PMIX_QUERY, &count) && count != n) {
    r.in.Fail(kErrUnpackFailure);
  }
  if (!r.in.ok()) return RefusedRequest{};
  out.PutSize(n);
  for (size_t i = 0; i < n; ++i) {
    if (!ReadOneQuery(r.in, &out)) return RefusedRequest{};
  }
  if (!out.ok()) return RefusedRequest{out.status().code()};
  input.queries = Bytes(out.Take());
  return CoreRequest{std::move(input), AnswerForm::kQuery};
}

Request ReadLog(Reading& r) {
  LogRequest request;
  size_t count = 0;
  r.in.UnpackElements(PMIX_TIME, 1, &request.stamp, &count);
  r.in.UnpackCountedInfos(&request.data);
  r.in.UnpackCountedInfos(&request.directives);
  return request;
}

Request ReadResolvePeers(Reading& r) {
  ResolvePeersRequest request;
  ReadText(r.in, kMaxText, &request.node);
  ReadText(r.in, kMaxNspaceLen, &request.nspace);
  return request;
}

Request ReadResolveNodes(Reading& r) {
  ResolveNodesRequest request;
  ReadText(r.in, kMaxNspaceLen, &request.nspace);
  return request;
}

// ----------------------------------------------------------------- table ---

struct CommandRow {
  std::string_view name;  // empty: there is no such command
  Request (*read)(Reading&) = nullptr;
  Parts parts = {};  // of those without `read`
};

using enum Part;

// Indexed by command.
constexpr CommandRow kCommands[] = {
    {"job info", ReadJobInfo},
    {"abort", ReadAbort},
    {"commit", ReadCommit},
    {"fence", ReadFence},
    {"get", ReadGet},
    {"finalize", ReadFinalize},
    {"publish", ReadPublish},
    {"lookup", ReadLookup},
    {"unpublish", ReadUnpublish},
    {"spawn", ReadSpawn},
    {"connect", ReadConnect},
    {"disconnect", ReadDisconnect},
    {"notify", ReadNotify},
    {"register events", ReadEventsWanted},
    {"deregister events", ReadEventsUnwanted},
    {"query", ReadQuery},
    {"log", ReadLog},
    {"allocate", ReadAllocate},
    {"job control", ReadJobControl},
    {"monitor", ReadMonitor},
    {"get credential", ReadGetCredential},
    {"validate credential", ReadValidateCredential},
    {"pull output", ReadPull},
    {"push input", ReadPush},
    {"group construct", ReadGroupConstruct},
    {"", nullptr},
    {"", nullptr},
    {"group leave", ReadGroupLeave},
    {"group destruct", ReadGroupDestruct},
    {"stop output", ReadStopPull},
    {"fabric register", nullptr, {kInfos}},
    {"fabric update", nullptr, {kSize}},
    // Carries a topology, which is the peer's own memory layout.
    {"device distances", nullptr},
    {"refresh cache", ReadRefresh},
    {"resource block", ReadResourceBlock},
    {"session control", ReadSessionControl},
    {"system info", nullptr},
    {"resolve peers", ReadResolvePeers},
    {"resolve nodes", ReadResolveNodes},
    // Asks for job info in the form that every peer can read, which is the
    // only one there is here.
    {"store fallback", ReadJobInfo},
};

Request ReadRow(Reading& r, const CommandRow& row) {
  if (row.read != nullptr) return row.read(r);
  SkipParts(r.in, r.requester.traits, row.parts);
  return RefusedRequest{kErrNotSupported};
}

// Failures that are not protocol violations.
bool IsOurLimit(int code) {
  return code == kErrNotSupported || code == kErrUnknownDataType ||
         code == kErrOutOfResource || code == kErrNomem;
}

}  // namespace

Result<Request> ParseRequest(const Requester& requester, uint32_t tag,
                             std::string_view payload) {
  Reading reading{requester, tag, Decoder(payload, requester.traits.form)};
  reading.in.set_memory_limit(kDecodedBytes);
  uint8_t command = 0;
  if (!reading.in.UnpackCommand(&command)) {
    return Status(kErrUnpackFailure, "sent what is no command");
  }
  if (CommandName(command) == "?") return Request(RefusedRequest{});
  Request request = ReadRow(reading, kCommands[command]);
  if (reading.in.ok()) return request;
  if (IsOurLimit(reading.in.code())) {
    return Request(RefusedRequest{reading.in.code()});
  }
  return Status(kErrUnpackFailure,
                "malformed request: " + std::string(CommandName(command)));
}

std::string_view CommandName(uint8_t command) {
  if (command >= std::size(kCommands) || kCommands[command].name.empty()) {
    return "?";
  }
  return kCommands[command].name;
}

}  // namespace canopy::openpmix
