#include "server/openpmix/host_requests.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/codec/encoder.h"
#include "common/host_call.h"
#include "common/host_op.h"
#include "common/iof_call.h"
#include "common/status.h"
#include "common/values/element_ops.h"
#include "common/values/info_list.h"
#include "common/values/type_table.h"
#include "common/values/value.h"
#include "pmix_common.h"
#include "server/openpmix/directive_check.h"

namespace canopy::openpmix {
namespace {

constexpr size_t kMaxApps = 1 << 10;

// Owns applications in their C form.
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

// Reads SIZE n and one call of n applications, and appends them to `out` in
// Canopy's form.
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

// Returns a number for a request of a process. A tag is unique only in its
// connection, and a process that initializes again has another connection.
core::RequestId RequestOf(core::ClientId client, uint32_t tag) {
  return (client << 32) | tag;
}

core::HostCallArrived HostCall(const Reading& r, HostOp op) {
  core::HostCallArrived input;
  input.client = r.requester.client;
  input.request = RequestOf(r.requester.client, r.tag);
  input.op = op;
  return input;
}

// Reads SIZE n and n INFO. Returns them in Canopy's form.
Bytes ReadInfos(Decoder& in) {
  InfoList infos;
  Bytes ours;
  if (in.UnpackCountedInfos(&infos)) OurForm(in, infos, &ours);
  return ours;
}

// Reads SIZE n and n units.
bool ReadUnits(Decoder& in, std::vector<host_call::ResourceUnit>* out) {
  size_t n = 0;
  size_t count = 0;
  if (!in.UnpackSize(&n)) return false;
  if (n > host_call::kMaxUnits) return in.Fail(kErrOutOfResource);
  std::vector<pmix_resource_unit_t> units(n);
  if (n > 0 &&
      !in.UnpackElements(PMIX_RESOURCE_UNIT, n, units.data(), &count)) {
    return false;
  }
  if (count != n) return in.Fail(kErrUnpackFailure);
  for (const pmix_resource_unit_t& unit : units) {
    out->push_back({unit.type, unit.count});
  }
  return true;
}

bool ReadHandle(Decoder& in, uint64_t* handle) {
  size_t number = 0;
  if (!in.UnpackSize(&number)) return false;
  *handle = number;
  return true;
}

core::HostCallArrived FabricRequest(Reading& r,
                                    pmix_fabric_operation_t operation,
                                    const InfoList& infos) {
  core::HostCallArrived input = HostCall(r, HostOp::kFabric);
  Bytes ours;
  OurForm(r.in, infos, &ours);
  input.call = Bytes(wire::Encode(
      host_call::Fabric{static_cast<uint8_t>(operation), ours.view()}));
  return input;
}

}  // namespace

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
  ReadBytes(r.in, &credential);
  const Bytes infos = ReadInfos(r.in);
  input.call = Bytes(
      wire::Encode(host_call::ValidateCredential{credential, infos.view()}));
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
  input.call = Bytes(wire::Encode(
      host_call::Monitor{encoded[0].view(), error, encoded[1].view()}));
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
  r.in.UnpackByte(PMIX_ALLOC_DIRECTIVE, &directive);
  const Bytes infos = ReadInfos(r.in);
  input.call =
      Bytes(wire::Encode(host_call::Allocate{directive, infos.view()}));
  return CoreRequest{std::move(input), AnswerForm::kInfos};
}

Request ReadSessionControl(Reading& r) {
  core::HostCallArrived input = HostCall(r, HostOp::kControlSession);
  uint32_t session = 0;
  size_t count = 0;
  r.in.UnpackElements(PMIX_UINT32, 1, &session, &count);
  const Bytes infos = ReadInfos(r.in);
  input.call =
      Bytes(wire::Encode(host_call::ControlSession{session, infos.view()}));
  return CoreRequest{std::move(input), AnswerForm::kInfos};
}

Request ReadResourceBlock(Reading& r) {
  core::HostCallArrived input = HostCall(r, HostOp::kBlockResources);
  host_call::BlockResources block;
  std::string name;
  r.in.UnpackByte(PMIX_RESBLOCK_DIRECTIVE, &block.directive);
  ReadText(r.in, kMaxText, &name);
  Bytes infos;
  if (r.in.ok() && ReadUnits(r.in, &block.units)) infos = ReadInfos(r.in);
  block.block = name;
  block.infos = infos.view();
  input.call = Bytes(wire::Encode(block));
  return CoreRequest{std::move(input)};
}

Request ReadFabricRegister(Reading& r) {
  InfoList infos;
  r.in.UnpackCountedInfos(&infos);
  return CoreRequest{FabricRequest(r, PMIX_FABRIC_REQUEST_INFO, infos),
                     AnswerForm::kInfos};
}

// The library identifies a fabric only by its index.
Request ReadFabricUpdate(Reading& r) {
  uint64_t index = 0;
  ReadHandle(r.in, &index);
  const InfoList which{{PMIX_FABRIC_INDEX, Value::Size(index)}};
  return CoreRequest{FabricRequest(r, PMIX_FABRIC_UPDATE_INFO, which),
                     AnswerForm::kInfos};
}

Request ReadPull(Reading& r) {
  PullRequest request;
  size_t count = 0;
  ReadProcs(r.in, &request.procs);
  r.in.UnpackCountedInfos(&request.infos);
  CheckDirectives(r, "PMIx_IOF_pull", request.infos);
  r.in.UnpackElements(PMIX_IOF_CHANNEL, 1, &request.channels, &count);
  if (r.in.ok() && count != 1) r.in.Fail(kErrUnpackFailure);
  if (r.requester.traits.iof_pull_has_handle) ReadHandle(r.in, &request.handle);
  return request;
}

// The core rejects a push that has neither data nor PMIX_IOF_COMPLETE.
Request ReadPush(Reading& r) {
  core::HostCallArrived input = HostCall(r, HostOp::kPushInput);
  InfoList infos;
  std::string_view bytes;
  ReadProcs(r.in, &input.targets);
  r.in.UnpackCountedInfos(&infos);
  CheckDirectives(r, "PMIx_IOF_push", infos);
  ReadBytes(r.in, &bytes);
  input.call = Bytes(wire::Encode(
      InputPush{Bytes(std::string(bytes)), FlagIn(infos, PMIX_IOF_COMPLETE)}));
  return CoreRequest{std::move(input)};
}

Request ReadStopPull(Reading& r) {
  StopPullRequest request;
  InfoList infos;
  r.in.UnpackCountedInfos(&infos);
  CheckDirectives(r, "PMIx_IOF_deregister", infos);
  ReadHandle(r.in, &request.handle);
  return request;
}

}  // namespace canopy::openpmix
