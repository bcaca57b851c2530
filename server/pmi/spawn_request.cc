#include "server/pmi/spawn_request.h"

#include "common/codec/encoder.h"
#include "common/values/value.h"
#include "pmix_types.h"
#include "server/pmi/spawn_hints.h"

namespace canopy::pmi {
namespace {

// Returns pointers that are valid as long as the texts are unchanged.
std::vector<char*> PointersTo(std::vector<std::string>& texts) {
  std::vector<char*> out;
  out.reserve(texts.size() + 1);
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

// The core's limit for a call of PMIx_Spawn, in bytes. Each command of the call
// contains all pairs of the request, so a short request could produce a long
// call.
constexpr size_t kMaxCall = 4 << 20;

bool IsValid(const SpawnCommand& command) {
  return !command.argv.empty() && !command.argv[0].empty() &&
         command.maxprocs > 0;
}

}  // namespace

void SpawnCommand::AddHint(std::string_view name, std::string_view value) {
  const char* const attribute = AttributeOfHint(name);
  if (attribute != nullptr) hints.Add(attribute, Value::String(value));
}

void SpawnRequest::AddPreput(std::string_view key, std::string_view value) {
  env.push_back(PreputEntry(env.size(), key, value));
}

Result<std::string> SpawnCallOf(SpawnRequest request) {
  const std::vector<char*> env = PointersTo(request.env);
  std::vector<std::vector<char*>> argvs;
  std::vector<pmix_app_t> apps(request.commands.size());
  for (size_t i = 0; i < apps.size(); ++i) {
    SpawnCommand& command = request.commands[i];
    if (!IsValid(command)) return Status(kErrBadParam, "no program to spawn");
    argvs.push_back(PointersTo(command.argv));
    apps[i].cmd = command.argv[0].data();
    apps[i].argv = argvs.back().data();
    apps[i].env = const_cast<char**>(env.data());
    apps[i].maxprocs = command.maxprocs;
    apps[i].info = command.hints.mutable_data();
    apps[i].ninfo = command.hints.size();
  }
  Encoder encoder;
  encoder.PutSize(0);
  encoder.PutSize(apps.size());
  for (const pmix_app_t& app : apps) {
    encoder.PutElement(PMIX_APP, &app);
    if (encoder.size() > kMaxCall) return Status(kErrOutOfResource);
  }
  if (!encoder.ok()) return encoder.status();
  return encoder.Take();
}

}  // namespace canopy::pmi
