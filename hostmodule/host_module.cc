#include "hostmodule/host_module.h"

namespace canopy::host {
namespace {

Status NotSupported(const char* what) {
  return {kErrNotSupported, std::string("the host does not support ") + what};
}

}  // namespace

void HostModule::ClientConnected(const ProcId&, const Bytes&,
                                 StatusReply reply) {
  reply(NotSupported("client_connected"));
}

void HostModule::ClientFinalized(const ProcId&, StatusReply reply) {
  reply(NotSupported("client_finalized"));
}

void HostModule::Abort(const Requester&, int, const std::string&,
                       const std::vector<ProcId>&, StatusReply reply) {
  reply(NotSupported("abort"));
}

void HostModule::Fence(const std::vector<ProcId>&, const Bytes&, const Bytes&,
                       DataReply reply) {
  reply(NotSupported("fence_nb"), Bytes());
}

void HostModule::DirectModex(const ProcId&, const Bytes&, DataReply reply) {
  reply(NotSupported("direct_modex"), Bytes());
}

void HostModule::Publish(const Requester&, const Bytes&, StatusReply reply) {
  reply(NotSupported("publish"));
}

void HostModule::Lookup(const Requester&, const std::vector<std::string>&,
                        const Bytes&, InfoReply reply) {
  reply(NotSupported("lookup"), Bytes());
}

void HostModule::Unpublish(const Requester&, const std::vector<std::string>&,
                           const Bytes&, StatusReply reply) {
  reply(NotSupported("unpublish"));
}

void HostModule::Spawn(const Requester&, const MapRequest&, NspaceReply reply) {
  reply(NotSupported("spawn"), "");
}

void HostModule::Connect(const std::vector<ProcId>&, const Bytes&,
                         StatusReply reply) {
  reply(NotSupported("connect"));
}

void HostModule::Disconnect(const std::vector<ProcId>&, const Bytes&,
                            StatusReply reply) {
  reply(NotSupported("disconnect"));
}

void HostModule::RegisterEvents(const std::vector<int>&, const Bytes&,
                                StatusReply reply) {
  reply(NotSupported("register_events"));
}

void HostModule::DeregisterEvents(const std::vector<int>&, StatusReply reply) {
  reply(NotSupported("deregister_events"));
}

void HostModule::Listener(int, StatusReply reply) {
  reply(NotSupported("listener"));
}

void HostModule::NotifyEvent(int, const ProcId&, uint8_t, const Bytes&,
                             StatusReply reply) {
  reply(NotSupported("notify_event"));
}

void HostModule::Query(const Requester&, const Bytes&, InfoReply reply) {
  reply(NotSupported("query"), Bytes());
}

void HostModule::ToolConnected(const Bytes&, ProcReply reply) {
  reply(NotSupported("tool_connected"), ProcId());
}

void HostModule::Log(const Requester&, const Bytes&, const Bytes&,
                     StatusReply reply) {
  reply(NotSupported("log"));
}

void HostModule::Allocate(const Requester&, AllocationKind, const Bytes&,
                          InfoReply reply) {
  reply(NotSupported("allocate"), Bytes());
}

void HostModule::JobControl(const Requester&, const std::vector<ProcId>&,
                            const Bytes&, InfoReply reply) {
  reply(NotSupported("job_control"), Bytes());
}

void HostModule::Monitor(const Requester&, const Bytes&, int, const Bytes&,
                         InfoReply reply) {
  reply(NotSupported("monitor"), Bytes());
}

void HostModule::GetCredential(const Requester&, const Bytes&,
                               DataReply reply) {
  reply(NotSupported("get_credential"), Bytes());
}

void HostModule::ValidateCredential(const Requester&, const Bytes&,
                                    const Bytes&, InfoReply reply) {
  reply(NotSupported("validate_credential"), Bytes());
}

void HostModule::IofPull(const std::vector<ProcId>&, uint16_t, const Bytes&,
                         StatusReply reply) {
  reply(NotSupported("iof_pull"));
}

void HostModule::PushStdin(const ProcId&, const std::vector<ProcId>&,
                           const Bytes&, const Bytes&, StatusReply reply) {
  reply(NotSupported("push_stdin"));
}

void HostModule::Group(GroupOperation, const std::string&,
                       const std::vector<ProcId>&, const Bytes&,
                       InfoReply reply) {
  reply(NotSupported("group"), Bytes());
}

void HostModule::Fabric(const Requester&, int, const Bytes&, InfoReply reply) {
  reply(NotSupported("fabric"), Bytes());
}

void HostModule::SessionControl(const Requester&, uint32_t, const Bytes&,
                                InfoReply reply) {
  reply(NotSupported("session_control"), Bytes());
}

void HostModule::ResourceBlock(const Requester&, int, const std::string&,
                               const Bytes&, const Bytes&, StatusReply reply) {
  reply(NotSupported("resource_block"));
}

}  // namespace canopy::host
