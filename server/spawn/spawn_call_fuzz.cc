// The fuzz target for calls of PMIx_Spawn.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "common/codec/encoder.h"
#include "common/values/info_list.h"
#include "common/values/value.h"
#include "pmix_common.h"
#include "server/spawn/spawn_call.h"
#include "tests/fuzz/fuzz.h"

namespace canopy::spawn {
namespace {

void PutInfos(const InfoList& infos, Encoder* out) {
  out->PutSize(infos.size());
  for (const pmix_info_t& info : infos) out->PutInfo(info);
}

std::string Seed() {
  InfoList job;
  job.Add(PMIX_HOST, Value::String("a,b:2"));
  job.Add(PMIX_UNSET_ENVAR, Value::String("A*"));
  job.Add(PMIX_TAG_OUTPUT, Value::Bool(true));
  InfoList app_infos;
  app_infos.Add(PMIX_WDIR, Value::String("/tmp"));
  char program[] = "program";
  char entry[] = "A=1";
  char* argv[] = {program, nullptr};
  char* env[] = {entry, nullptr};
  pmix_app_t app = {};
  app.cmd = program;
  app.argv = argv;
  app.env = env;
  app.maxprocs = 2;
  app.info = app_infos.mutable_data();
  app.ninfo = app_infos.size();
  Encoder out;
  PutInfos(job, &out);
  out.PutSize(2);
  out.PutElement(PMIX_APP, &app);
  app_infos.Add(PMIX_COSPAWN_APP, Value::Bool(true));
  app.info = app_infos.mutable_data();
  app.ninfo = app_infos.size();
  out.PutElement(PMIX_APP, &app);
  return out.Take();
}

}  // namespace
}  // namespace canopy::spawn

std::vector<std::string> canopy::fuzz::Seeds() { return {spawn::Seed()}; }

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  (void)canopy::spawn::ParseSpawnCall(
      {reinterpret_cast<const char*>(data), size});
  return 0;
}
