// The canopy command line.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>

#include "client/cli/agent_group.h"
#include "client/cli/run_client.h"

extern char** environ;

namespace canopy::cli {
namespace {

std::string RandomBytes(size_t n) {
  std::random_device device;
  std::string out;
  while (out.size() < n) out.push_back(static_cast<char>(device()));
  return out;
}

std::string AgentProgram() {
  if (const char* env = std::getenv("CANOPYD"); env != nullptr) return env;
  char self[4096];
  const ssize_t n = readlink("/proc/self/exe", self, sizeof self);
  std::string path(self, n > 0 ? static_cast<size_t>(n) : 0);
  return path.substr(0, path.rfind('/') + 1) + "canopyd";
}

class PlainOutput : public RunObserver {
 public:
  void OnMapped(const control::v1::JobMapped&) override {}
  void OnProgress(const control::v1::Progress&) override {}
  bool OnOutput(const control::v1::Output& output) override {
    FILE* out = output.channel() == 4 ? stderr : stdout;
    fwrite(output.data().data(), 1, output.data().size(), out);
    return fflush(out) == 0;
  }
};

std::string NodeName(uint32_t index, uint32_t count) {
  if (count > 1) return "node" + std::to_string(index + 1);
  char name[256] = "localhost";
  gethostname(name, sizeof name - 1);
  return name;
}

std::vector<AgentPlan> EmulatedNodes(uint32_t count) {
  std::vector<AgentPlan> plans(count);
  const std::string id = RandomBytes(16);
  const std::string key = RandomBytes(32);
  for (uint32_t i = 0; i < count; ++i) {
    plans[i].command = {AgentProgram(), "--bootstrap"};
    auto& config = plans[i].config;
    config.set_version(1);
    config.set_overlay_id(id);
    config.set_cluster_key(key);
    for (uint32_t m = 0; m < count; ++m) {
      config.add_member_names(NodeName(m, count));
    }
    config.set_self(i);
    config.set_node_name(NodeName(i, count));
    config.set_security("plaintext");
    config.set_radix(32);
    config.set_listen("127.0.0.1");
    config.set_embedded(true);
    config.set_emulated(count > 1);
  }
  return plans;
}

int Fail(const Status& status) {
  std::fprintf(stderr, "canopy: %s\n", status.message().c_str());
  return 1;
}

int Run(int argc, char** argv) {
  uint32_t nodes = 1;
  uint32_t procs = 0;
  int i = 1;
  for (; i + 1 < argc && argv[i][0] == '-'; i += 2) {
    if (std::strcmp(argv[i], "-n") == 0) procs = std::atoi(argv[i + 1]);
    if (std::strcmp(argv[i], "--nodes") == 0) nodes = std::atoi(argv[i + 1]);
  }
  BlockForwardedSignals();
  AgentGroup group;
  Status status = group.Start(EmulatedNodes(nodes));
  if (!status.ok()) return Fail(status);
  status = group.WaitReady(30000, nullptr);
  if (!status.ok()) return Fail(status);
  control::v1::Launch launch;
  auto* app = launch.add_apps();
  for (; i < argc; ++i) app->add_argv(argv[i]);
  app->set_num_procs(procs);
  for (char** e = environ; *e != nullptr; ++e) launch.add_env(*e);
  char cwd[4096];
  if (getcwd(cwd, sizeof cwd) != nullptr) launch.set_cwd(cwd);
  launch.set_oversubscribe(true);
  launch.set_allow_run_as_root(true);
  PlainOutput output;
  auto end = RunJob("unix:" + group.nodes()[0].control_socket(), "", launch,
                    {0}, &output);
  if (!end.ok()) return Fail(end.status());
  if (!end->text().empty()) {
    std::fprintf(stderr, "canopy: %s\n", end->text().c_str());
  }
  return end->exit_code();
}

}  // namespace
}  // namespace canopy::cli

int main(int argc, char** argv) {
  if (argc < 2 || std::strcmp(argv[1], "run") != 0) return 2;
  return canopy::cli::Run(argc - 1, argv + 1);
}
