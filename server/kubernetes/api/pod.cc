#include "server/kubernetes/api/pod.h"

#include <cstddef>

#include "common/string_util.h"
#include "server/kubernetes/api/quantity.h"

namespace canopy::kubernetes {
namespace {

constexpr size_t kMaxContainers = 256;
constexpr size_t kMaxShortText = 512;  // bytes

std::string ShortTextAt(const Json& object, std::string_view key) {
  return ShownText(TextAt(object, key), kMaxShortText);
}

Explanation ExplanationOf(const Json& object) {
  return {ShortTextAt(object, "reason"), ShownText(TextAt(object, "message"))};
}

uint32_t RanksOf(const Json& container, std::string_view resource) {
  const Json& limits = At(At(container, "resources"), "limits");
  const auto number = IntAt(limits, resource);
  const auto quantity =
      number ? number : WholeQuantity(TextAt(limits, resource));
  if (!quantity || *quantity < 0 || *quantity > UINT32_MAX) return 0;
  return static_cast<uint32_t>(*quantity);
}

Termination TerminationOf(const Json& terminated) {
  const Explanation why = ExplanationOf(terminated);
  return {static_cast<int>(IntAt(terminated, "exitCode").value_or(0)),
          static_cast<int>(IntAt(terminated, "signal").value_or(0)), why.reason,
          why.message};
}

std::string WithoutRuntime(std::string_view id) {
  const size_t scheme = id.find("://");
  if (scheme != std::string_view::npos) id.remove_prefix(scheme + 3);
  return ShownText(id, kMaxShortText);
}

void AddStatus(const Json& status, Container* container) {
  container->container_id = WithoutRuntime(TextAt(status, "containerID"));
  const Json& state = At(status, "state");
  container->running = At(state, "running").is_object();
  container->waiting = ExplanationOf(At(state, "waiting"));
  const Json& terminated = At(state, "terminated");
  if (terminated.is_object()) container->terminated = TerminationOf(terminated);
}

const Json& StatusOfContainer(const Json& statuses, std::string_view name) {
  size_t left = kMaxContainers;
  for (const Json& status : ElementsOf(statuses)) {
    if (left-- == 0) break;
    if (TextAt(status, "name") == name) return status;
  }
  return At({}, "");
}

std::vector<Container> ContainersOf(const Json& specs, const Json& statuses,
                                    std::string_view resource) {
  std::vector<Container> containers;
  for (const Json& spec : ElementsOf(specs)) {
    if (containers.size() == kMaxContainers) break;
    Container container;
    container.name = ShortTextAt(spec, "name");
    container.image = ShortTextAt(spec, "image");
    container.ranks = RanksOf(spec, resource);
    AddStatus(StatusOfContainer(statuses, container.name), &container);
    containers.push_back(std::move(container));
  }
  return containers;
}

// Returns the explanation of a condition, if the condition has this value.
Explanation WhyCondition(const Json& object, std::string_view type,
                         bool value) {
  const auto condition = ConditionOf(object, type);
  if (!condition || condition->is_true != value) return {};
  return {condition->reason, condition->message};
}

std::string TextOf(const Explanation& why) {
  if (why.reason.empty()) return why.message;
  return why.message.empty() ? why.reason : why.reason + ": " + why.message;
}

// Returns why a container waits. A reason of the usual course of a start gives
// way to another container's problem.
Explanation WaitingOf(const std::vector<Container>& containers) {
  Explanation usual;
  for (const Container& container : containers) {
    const Explanation& waiting = container.waiting;
    if (waiting.empty()) continue;
    if (waiting.reason != "ContainerCreating" &&
        waiting.reason != "PodInitializing") {
      return waiting;
    }
    usual = waiting;
  }
  return usual;
}

std::string TerminatedText(const Termination& terminated) {
  std::string text = terminated.signal != 0
                         ? "signal " + std::to_string(terminated.signal)
                         : "exit code " + std::to_string(terminated.exit_code);
  if (!terminated.reason.empty()) text = terminated.reason + ", " + text;
  return text;
}

std::string FailureText(const Pod& pod) {
  for (const auto* containers : {&pod.init_containers, &pod.containers}) {
    for (const Container& container : *containers) {
      const auto& end = container.terminated;
      if (end && (end->exit_code != 0 || end->signal != 0)) {
        return TerminatedText(*end);
      }
    }
  }
  return "";
}

std::string DetailOf(const Pod& pod) {
  if (!pod.disruption.empty()) return TextOf(pod.disruption);
  if (!pod.state.empty()) return TextOf(pod.state);
  if (pod.phase == "Failed") return FailureText(pod);
  if (pod.node.empty()) return TextOf(pod.scheduling);
  const Explanation init = WaitingOf(pod.init_containers);
  return TextOf(init.empty() ? WaitingOf(pod.containers) : init);
}

}  // namespace

std::optional<Pod> ParsePod(const Json& object, std::string_view resource) {
  Pod pod;
  if (!ParseMetadata(object, &pod)) return std::nullopt;
  const Json& spec = At(object, "spec");
  const Json& status = At(object, "status");
  pod.node = ShortTextAt(spec, "nodeName");
  pod.phase = ShortTextAt(status, "phase");
  pod.host_ip = ShortTextAt(status, "hostIP");
  pod.pod_ip = ShortTextAt(status, "podIP");
  pod.state = ExplanationOf(status);
  pod.disruption = WhyCondition(object, "DisruptionTarget", true);
  pod.scheduling = WhyCondition(object, "PodScheduled", false);
  pod.containers = ContainersOf(At(spec, "containers"),
                                At(status, "containerStatuses"), resource);
  pod.init_containers =
      ContainersOf(At(spec, "initContainers"),
                   At(status, "initContainerStatuses"), resource);
  return pod;
}

std::optional<uint32_t> CompletionIndex(const Pod& pod) {
  const std::string_view annotation =
      ValueOf(pod.annotations, kCompletionIndex);
  return ParseNumber(annotation.empty() ? ValueOf(pod.labels, kCompletionIndex)
                                        : annotation);
}

std::string MissingText(const Pod& pod) {
  std::string text = pod.deleting        ? "Terminating"
                     : pod.phase.empty() ? "Unknown"
                                         : pod.phase;
  const std::string detail = DetailOf(pod);
  return detail.empty() ? text : text + " (" + detail + ")";
}

}  // namespace canopy::kubernetes
