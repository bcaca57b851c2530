#include "client/session/spawn_op.h"

#include <unistd.h>

#include <climits>
#include <cstring>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/session/directives.h"
#include "client/session/output_wishes.h"
#include "client/session/servers.h"
#include "common/app_command.h"
#include "common/codec/encoder.h"
#include "common/describe.h"
#include "common/ids.h"
#include "common/local/calls.h"
#include "common/status.h"

namespace canopy::client {
namespace {

using local::FrameType;

int CheckApp(const pmix_app_t& app) {
  if (CommandOf(app.cmd, app.argv).program.empty()) {
    return PMIX_ERR_JOB_NO_EXE_SPECIFIED;
  }
  const InfoArray infos{app.info, app.ninfo};
  return app.maxprocs >= 0 && infos.ok() ? PMIX_SUCCESS : PMIX_ERR_BAD_PARAM;
}

int Check(const SpawnRequest& request) {
  if (!request.directives.ok() || request.apps.empty()) {
    return PMIX_ERR_BAD_PARAM;
  }
  for (const pmix_app_t& app : request.apps) {
    const int rc = CheckApp(app);
    if (rc != PMIX_SUCCESS) return rc;
  }
  return PMIX_SUCCESS;
}

// Encodes an application with the whole command line, which the host's spawn
// function expects, and with a working directory: the caller's current
// directory if the application names none.
void PutApp(const pmix_app_t& app, Encoder* encoder) {
  AppCommand command = CommandOf(app.cmd, app.argv);
  std::vector<char*> argv;
  argv.reserve(command.argv.size() + 1);
  for (std::string& word : command.argv) argv.push_back(word.data());
  argv.push_back(nullptr);
  pmix_app_t whole = app;
  whole.cmd = command.program.data();
  whole.argv = argv.data();
  char here[PATH_MAX];
  if (whole.cwd == nullptr) whole.cwd = getcwd(here, sizeof here);
  encoder->PutElement(PMIX_APP, &whole);
}

bool IsOfTool(Session& session) { return session.servers().is_tool(); }

// Returns whether the job's output may be pulled.
bool IsForwarded(const InfoArray& directives) {
  for (size_t i = 0; i < directives.size; ++i) {
    const pmix_info_t& info = directives.infos[i];
    const std::string_view key = KeyOf(info);
    if ((key == PMIX_FWD_STDOUT || key == PMIX_FWD_STDERR) && IsTrue(info)) {
      return true;
    }
  }
  return false;
}

// Encodes a directive. It is marked as processed if the job's output is pulled
// by the tool's library, and the pulls alone honour the directive.
void PutDirective(const pmix_info_t& info, bool pulls, Encoder* encoder) {
  pmix_info_t marked = info;
  if (pulls && IsForPullsAlone(KeyOf(info))) {
    marked.flags |= PMIX_INFO_REQD_PROCESSED;
  }
  encoder->PutInfo(marked);
}

int EncodeCall(const SpawnRequest& request, bool of_tool, std::string* call) {
  const int rc = Check(request);
  if (rc != PMIX_SUCCESS) return rc;
  const bool pulls = of_tool && IsForwarded(request.directives);
  Encoder encoder;
  encoder.PutSize(request.directives.size);
  for (size_t i = 0; i < request.directives.size; ++i) {
    PutDirective(request.directives.infos[i], pulls, &encoder);
  }
  encoder.PutSize(request.apps.size());
  for (const pmix_app_t& app : request.apps) PutApp(app, &encoder);
  if (!encoder.ok()) return encoder.status().code();
  *call = encoder.Take();
  return PMIX_SUCCESS;
}

std::string FrameOf(const std::string& call) {
  return wire::Encode(local::Spawn{call});
}

// Copies the name of the new job, or "".
int TakeName(int status, const std::string& name, pmix_nspace_t nspace) {
  nspace[0] = '\0';
  if (status != PMIX_SUCCESS) return status;
  if (name.empty() || name.size() > kMaxNspaceLen) {
    return PMIX_ERR_UNPACK_FAILURE;
  }
  memcpy(nspace, name.c_str(), name.size() + 1);
  return PMIX_SUCCESS;
}

// Requests the spawn from the host of the server that this process runs.
int SpawnByHost(const Session::Spawner& spawner, std::string call,
                char* nspace) {
  std::promise<int> result;
  const int rc = spawner(std::move(call), /*waits=*/true,
                         [&](int status, const std::string& name) {
                           result.set_value(TakeName(status, name, nspace));
                         });
  return rc == PMIX_SUCCESS ? result.get_future().get() : rc;
}

int SpawnByHostAsync(Session& session, const Session::Spawner& spawner,
                     std::string call, pmix_spawn_cbfunc_t cbfunc,
                     void* cbdata) {
  return spawner(
      std::move(call), /*waits=*/false,
      [&session, cbfunc, cbdata](int status, const std::string& name) {
        session.progress().Post([=] {
          pmix_nspace_t nspace;
          const int rc = TakeName(status, name, nspace);
          cbfunc(rc, nspace, cbdata);
        });
      });
}

}  // namespace

int SpawnJob(Session& session, const SpawnRequest& request, char* nspace) {
  pmix_nspace_t unwanted;
  if (nspace == nullptr) nspace = unwanted;
  nspace[0] = '\0';
  std::string call;
  int rc = EncodeCall(request, IsOfTool(session), &call);
  if (rc != PMIX_SUCCESS) return rc;
  if (const auto spawner = session.spawner()) {
    return SpawnByHost(spawner, std::move(call), nspace);
  }
  if (session.channel() == nullptr) return PMIX_ERR_UNREACH;
  const Reply reply = session.channel()->Call(FrameType::kSpawn, FrameOf(call));
  rc = TakeName(reply.status, reply.payload, nspace);
  if (rc == PMIX_SUCCESS && IsOfTool(session)) {
    session.output_wishes().Note(nspace, OutputWishes::In(request.directives));
  }
  return rc;
}

int SpawnJobAsync(Session& session, const SpawnRequest& request,
                  pmix_spawn_cbfunc_t cbfunc, void* cbdata) {
  std::string call;
  const int rc = EncodeCall(request, IsOfTool(session), &call);
  if (rc != PMIX_SUCCESS) return rc;
  if (const auto spawner = session.spawner()) {
    return SpawnByHostAsync(session, spawner, std::move(call), cbfunc, cbdata);
  }
  if (session.channel() == nullptr) return PMIX_ERR_UNREACH;
  const auto wishes = std::make_shared<InfoList>(
      IsOfTool(session) ? OutputWishes::In(request.directives) : InfoList());
  return session.channel()->CallAsync(
      FrameType::kSpawn, FrameOf(call), [=, &session](const Reply& reply) {
        pmix_nspace_t nspace;
        const int status = TakeName(reply.status, reply.payload, nspace);
        if (status == PMIX_SUCCESS) {
          session.output_wishes().Note(nspace, std::move(*wishes));
        }
        cbfunc(status, nspace, cbdata);
      });
}

}  // namespace canopy::client
