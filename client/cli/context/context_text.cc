#include "client/cli/context/context_text.h"

#include <charconv>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "client/cli/base/json.h"
#include "client/cli/context/base64.h"

namespace canopy::cli {
namespace {

using bootstrap::v1::NodeInfo;

// Numbers of 64 bits are texts, because other readers of JSON round them.
Json NodeJson(const NodeInfo& node) {
  Json aliases = Json::array();
  for (const std::string& alias : node.aliases()) aliases.push_back(alias);
  return {{"name", node.name()},
          {"aliases", std::move(aliases)},
          {"address", node.address()},
          {"control_socket", node.control_socket()},
          {"slots", node.slots()},
          {"pid", std::to_string(node.pid())},
          {"version", node.version()},
          {"topology", Base64(node.topology())},
          {"machine", node.machine()},
          {"runtime_dir", node.runtime_dir()},
          {"control_address", node.control_address()}};
}

Json LauncherJson(const v1::Launcher& launcher) {
  return {{"pid", std::to_string(launcher.pid())},
          {"session", std::to_string(launcher.session())},
          {"directory", Base64(launcher.directory())},
          {"command", launcher.command()}};
}

// The members of an object. A member that is absent or null has the default
// value of its type. A member of another type makes the object unusable.
class Members {
 public:
  explicit Members(const Json& object)
      : object_(object), ok_(object.is_object()) {}

  bool ok() const { return ok_; }

  // Returns null if the member is absent.
  const Json* Find(const char* name) const {
    const auto it = object_.find(name);
    return it == object_.end() || it->is_null() ? nullptr : &*it;
  }
  std::string Text(const char* name) {
    const Json* const member = Find(name);
    if (member == nullptr || !Check(member->is_string())) return "";
    return member->get<std::string>();
  }
  std::string Bytes(const char* name) {
    const std::optional<std::string> bytes = FromBase64(Text(name));
    return Check(bytes.has_value()) ? *bytes : "";
  }
  bool Flag(const char* name) {
    const Json* const member = Find(name);
    return member != nullptr && Check(member->is_boolean()) &&
           member->get<bool>();
  }
  // Reads a number, which may be a text.
  template <typename Integer>
  Integer Number(const char* name) {
    const Json* const member = Find(name);
    Integer number = 0;
    if (member == nullptr) return number;
    const std::string digits =
        member->is_number_integer() ? member->dump() : Text(name);
    const char* const end = digits.data() + digits.size();
    const auto read = std::from_chars(digits.data(), end, number);
    return Check(read.ec == std::errc() && read.ptr == end) ? number : 0;
  }
  // Returns an empty list if the member is absent.
  const Json& List(const char* name) {
    static const Json kNone = Json::array();
    const Json* const member = Find(name);
    return member != nullptr && Check(member->is_array()) ? *member : kNone;
  }

 private:
  // Returns `fits`; if it is false, the object is unusable.
  bool Check(bool fits) {
    ok_ = ok_ && fits;
    return fits;
  }

  const Json& object_;
  bool ok_;
};

bool Read(const Json& json, NodeInfo* node) {
  Members members(json);
  node->set_name(members.Text("name"));
  for (const Json& alias : members.List("aliases")) {
    if (!alias.is_string()) return false;
    node->add_aliases(alias.get<std::string>());
  }
  node->set_address(members.Text("address"));
  node->set_control_socket(members.Text("control_socket"));
  node->set_slots(members.Number<uint32_t>("slots"));
  node->set_pid(members.Number<uint64_t>("pid"));
  node->set_version(members.Text("version"));
  node->set_topology(members.Bytes("topology"));
  node->set_machine(members.Text("machine"));
  node->set_runtime_dir(members.Text("runtime_dir"));
  node->set_control_address(members.Text("control_address"));
  return members.ok();
}

bool Read(const Json& json, v1::Launcher* launcher) {
  Members members(json);
  launcher->set_pid(members.Number<int64_t>("pid"));
  launcher->set_session(members.Number<int64_t>("session"));
  launcher->set_directory(members.Bytes("directory"));
  launcher->set_command(members.Text("command"));
  return members.ok();
}

bool Read(const Json& json, v1::Context* context) {
  Members members(json);
  context->set_name(members.Text("name"));
  context->set_version(members.Number<uint32_t>("version"));
  context->set_created(members.Number<int64_t>("created"));
  context->set_overlay_id(members.Bytes("overlay_id"));
  context->set_cluster_key(members.Bytes("cluster_key"));
  context->set_security(members.Text("security"));
  context->set_tls_ca(members.Text("tls_ca"));
  context->set_tls_cert(members.Text("tls_cert"));
  context->set_tls_key(members.Text("tls_key"));
  context->set_radix(members.Number<uint32_t>("radix"));
  context->set_launch_agent(members.Text("launch_agent"));
  for (const Json& member : members.List("members")) {
    if (!Read(member, context->add_members())) return false;
  }
  context->set_emulated(members.Flag("emulated"));
  context->set_host_module(members.Text("host_module"));
  context->set_host_module_fallback(members.Flag("host_module_fallback"));
  const Json* const launcher = members.Find("launcher");
  if (launcher != nullptr && !Read(*launcher, context->mutable_launcher())) {
    return false;
  }
  return members.ok();
}

}  // namespace

std::string ContextText(const v1::Context& context) {
  Json members = Json::array();
  for (const NodeInfo& node : context.members()) {
    members.push_back(NodeJson(node));
  }
  Json json = {{"name", context.name()},
               {"version", context.version()},
               {"created", std::to_string(context.created())},
               {"overlay_id", Base64(context.overlay_id())},
               {"cluster_key", Base64(context.cluster_key())},
               {"security", context.security()},
               {"tls_ca", context.tls_ca()},
               {"tls_cert", context.tls_cert()},
               {"tls_key", context.tls_key()},
               {"radix", context.radix()},
               {"launch_agent", context.launch_agent()},
               {"members", std::move(members)},
               {"emulated", context.emulated()},
               {"host_module", context.host_module()},
               {"host_module_fallback", context.host_module_fallback()}};
  if (context.has_launcher()) {
    json["launcher"] = LauncherJson(context.launcher());
  }
  return DocumentText(json);
}

Result<v1::Context> ContextOf(const std::string& text) {
  const Result<Json> json = ParseDocument(text);
  if (!json.ok()) return json.status();
  v1::Context context;
  if (Read(*json, &context) && context.members_size() > 0) return context;
  return Status(kErrUnpackFailure, "the text is not a context");
}

}  // namespace canopy::cli
