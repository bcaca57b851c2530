#include "client/cli/commands/node_addition.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "client/cli/agents/agent_group.h"
#include "client/cli/agents/agent_leftovers.h"
#include "client/cli/agents/node_start.h"
#include "client/cli/agents/overlay_context.h"
#include "client/cli/base/command.h"
#include "client/cli/base/progress_line.h"
#include "client/cli/base/signals.h"
#include "client/cli/base/this_machine.h"
#include "client/cli/config/the_config.h"
#include "client/cli/context/context_store.h"
#include "client/cli/control/control_client.h"
#include "protos/bootstrap.pb.h"
#include "protos/control.pb.h"
#include "server/openpmix/tool_file.h"

namespace canopy::cli {

using bootstrap::v1::NodeInfo;

void RemoveDirectoriesOf(const v1::Context& context,
                         const std::function<bool(const NodeInfo&)>& is_gone) {
  for (const NodeInfo& member : context.members()) {
    if (!is_gone(member)) continue;
    // A tool that found the files of two agents would connect to neither.
    openpmix::ToolFile::RemoveAll(member.runtime_dir());
    if (!IsThisMachineNow(member.machine())) continue;
    (void)RemoveAgentDirectory(member.runtime_dir());
  }
}

namespace {

namespace v1c = control::v1;

// The root, over its control service.
class ControlledRoot : public OverlayRoot {
 public:
  explicit ControlledRoot(ControlClient* client) : client_(client) {}
  Result<v1c::AddNodesReply> AddNodes(const v1c::AddNodesRequest& request,
                                      bool /*remote*/) override {
    return client_->AddNodes(request);
  }

 private:
  ControlClient* const client_;
};

// Another command may have changed the file meanwhile.
Status UpdateContext(const std::vector<NodeInfo>& nodes, v1::Context* context) {
  const ContextStore store;
  Result<v1::Context> now = store.Load(context->name());
  if (!now.ok()) return now.status();
  RemoveDirectoriesOf(*now, [&](const NodeInfo& member) {
    return std::ranges::count(nodes, member.name(), &NodeInfo::name) > 0;
  });
  ReplaceMembers(nodes, &*now);
  *context = *std::move(now);
  return store.Update(*context);
}

void TakeBack(const std::vector<std::string>& names, ControlClient* client) {
  if (names.empty()) return;
  v1c::DecideNodesRequest request;
  request.set_decision(v1c::DecideNodesRequest::DECISION_REMOVE);
  request.mutable_nodes()->Add(names.begin(), names.end());
  const auto reply = client->DecideNodes(request);
  if (reply.ok()) return;
  PrintError("warning: new nodes stay members without an agent: " +
             reply.status().message());
}

NodeStartOptions StartOptions(const v1::Context& context,
                              const NodeAdditionOptions& options) {
  NodeStartOptions out;
  out.hosts = options.hosts;
  out.launch_agent = options.launch_agent.empty() ? context.launch_agent()
                                                  : options.launch_agent;
  out.remote_agent = TheConfig()->at("launch-agent").text;
  out.listen = options.listen;
  out.timeout_ms = static_cast<int>(options.timeout_seconds) * 1000;
  return out;
}

}  // namespace

Result<NodeAddition> AddNodes(OverlayTarget* overlay,
                              const NodeAdditionOptions& options) {
  const SignalSource signals;
  ProgressLine line(STDERR_FILENO, !options.quiet);
  NodeStartOptions start_options = StartOptions(overlay->context, options);
  start_options.interrupt_fd = signals.fd();
  start_options.progress = [&line](const std::string& text) {
    line.Set(text);
    line.Tick();
  };
  ControlledRoot root(&overlay->root.client);
  NodeStart start(overlay->context, &root, std::move(start_options));
  AgentGroup group;
  Result<StartedNodes> started = start.Run(&group);
  line.Clear();
  Status status = started.status();
  if (status.ok() && !started->added.empty()) {
    status = UpdateContext(started->nodes, &overlay->context);
  }
  if (!status.ok()) {
    TakeBack(start.new_members(), &overlay->root.client);
    return status;
  }
  return NodeAddition{std::move(started->added), std::move(started->was_up)};
}

}  // namespace canopy::cli
