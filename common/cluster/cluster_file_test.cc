#include "common/cluster/cluster_file.h"

#include <gtest/gtest.h>

#include <fstream>
#include <optional>
#include <string>

namespace canopy {
namespace {

constexpr char kKey[] = "key-file = '/etc/canopy/key'\n";

Result<ClusterFile> Read(const std::string& text) {
  const std::string path = testing::TempDir() + "/cluster.toml";
  std::ofstream(path) << text;
  return ReadClusterFile(path);
}

void ExpectRefusal(const std::string& text, const std::string& part) {
  const Result<ClusterFile> file = Read(text);
  ASSERT_FALSE(file.ok()) << text;
  EXPECT_EQ(file.code(), kErrBadParam);
  EXPECT_NE(file.status().message().find(part), std::string::npos)
      << file.status().message();
}

TEST(ClusterFileTest, NodesAreNumberedInTheOrderOfTheList) {
  const Result<ClusterFile> file =
      Read(std::string(kKey) + "nodes = 'n[08-10],head'\nport = 9000\n");
  ASSERT_TRUE(file.ok()) << file.status().message();
  ASSERT_EQ(file->nodes.size(), 4u);
  EXPECT_EQ(file->nodes[0].name, "n08");
  EXPECT_EQ(file->nodes[2].host, "n10");
  EXPECT_EQ(file->nodes[3].name, "head");
  EXPECT_EQ(file->nodes[3].port, 9000u);
  EXPECT_EQ(file->nodes[3].control_port, 9001u);
  EXPECT_EQ(file->name, "cluster");
  EXPECT_EQ(file->security, "tls");
}

TEST(ClusterFileTest, AnEntryMayGiveTheAddressOfItsNode) {
  const Result<ClusterFile> file =
      Read(std::string(kKey) +
           "nodes = ['a=10.0.0.1', 'b=b.example:7000', 'c=[fd00::1]:70', "
           "'d=fd00::2']\n");
  ASSERT_TRUE(file.ok()) << file.status().message();
  const auto address = [&](size_t i) {
    return ClusterAddress(file->nodes[i].host, file->nodes[i].port);
  };
  EXPECT_EQ(address(0), "10.0.0.1:7117");
  EXPECT_EQ(address(1), "b.example:7000");
  EXPECT_EQ(address(2), "[fd00::1]:70");
  EXPECT_EQ(file->nodes[2].control_port, 71u);
  EXPECT_EQ(address(3), "[fd00::2]:7117");
}

TEST(ClusterFileTest, OtherKeysAreRead) {
  const Result<ClusterFile> file =
      Read(std::string(kKey) +
           "nodes = 'a'\nname = 'hpc'\nsecurity = 'files'\ntls-ca = 'ca'\n"
           "tls-cert = 'cert'\ntls-key = 'key'\ntls-names = ['x', 'y']\n"
           "radix = 8\nloss-timeout = '2s'\nrestart-grace = 90\n"
           "directory = '/run/hpc'\n");
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(file->tls_names, (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(file->radix, 8u);
  EXPECT_EQ(file->loss_timeout_ms, 2000u);
  EXPECT_EQ(file->restart_grace_ms, 90000u);
  EXPECT_EQ(file->DirectoryOf(file->nodes[0]), "/run/hpc/a");
}

TEST(ClusterFileTest, TheAgentsMayServeAllUsers) {
  const std::string nodes = std::string(kKey) + "nodes = 'n1'\n";
  EXPECT_FALSE(Read(nodes)->serves_all_users);
  EXPECT_FALSE(Read(nodes + "users = 'own'\n")->serves_all_users);
  const Result<ClusterFile> file =
      Read(nodes + "users = 'all'\noperators = 'adm'\n");
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_TRUE(file->serves_all_users);
  EXPECT_EQ(file->operators, "adm");
  EXPECT_EQ(file->directory, "/run/canopy");
  ExpectRefusal(nodes + "users = 'some'\n", "one of own, all");
  ExpectRefusal(nodes + "operators = 'adm'\n", "'operators' needs");
  ExpectRefusal(nodes + "users = 'all'\nsecurity = 'plaintext'\n",
                "'security' is");
}

TEST(ClusterFileTest, AgentsServePodsOnlyIfTheTableSaysSo) {
  const std::string nodes = std::string(kKey) + "nodes = 'n1'\n";
  const Result<ClusterFile> without = Read(nodes);
  ASSERT_TRUE(without.ok());
  EXPECT_FALSE(without->kubernetes.pods);
  const Result<ClusterFile> file =
      Read(nodes +
           "[kubernetes]\npods = true\nhost-proc = '/host/proc'\n"
           "device-plugins = '/plugins'\nresource = 'a.dev/b'\n"
           "host-run = '/r'\nhost-files = '/f'\nstart-deadline = '5s'\n");
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_TRUE(file->kubernetes.pods);
  EXPECT_EQ(file->kubernetes.host_proc, "/host/proc");
  EXPECT_EQ(file->kubernetes.device_plugins, "/plugins");
  EXPECT_EQ(file->kubernetes.resource, "a.dev/b");
  EXPECT_EQ(file->kubernetes.host_run, "/r");
  EXPECT_EQ(file->kubernetes.host_files, "/f");
  EXPECT_EQ(file->kubernetes.start_deadline_ms, 5000u);
}

TEST(ClusterFileTest, TheTableForPodsIsChecked) {
  const std::string nodes = std::string(kKey) + "nodes = 'n1'\n";
  ExpectRefusal(nodes + "kubernetes = 1\n", "a table");
  ExpectRefusal(nodes + "[kubernetes]\npods = 'yes'\n", "true or false");
  ExpectRefusal(nodes + "[kubernetes]\npod = true\n", "pods");
  ExpectRefusal(
      "security = 'plaintext'\n" + nodes + "[kubernetes]\npods = true\n",
      "pods = true");
}

TEST(ClusterFileTest, PathsAreRelativeToTheFile) {
  const Result<ClusterFile> file =
      Read("key-file = 'a/../key'\nnodes = 'a'\ndirectory = '/run/x'\n");
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_TRUE(file->key_file.ends_with("/key"));
  EXPECT_TRUE(file->key_file.starts_with("/"));
  EXPECT_EQ(file->key_file.find(".."), std::string::npos);
  EXPECT_EQ(file->directory, "/run/x");
}

TEST(ClusterFileTest, ErrorsNameTheFileAndWhatIsWrong) {
  ExpectRefusal("nodes = 'a'\n", "the key 'key-file' is missing");
  ExpectRefusal(kKey, "the key 'nodes' is missing");
  ExpectRefusal(std::string(kKey) + "node = 'a'\n",
                "cluster.toml:2: unknown key 'node'; did you mean 'nodes'?");
  ExpectRefusal(std::string(kKey) + "nodes = 'a,b,a'\n", "a is listed twice");
  ExpectRefusal(std::string(kKey) + "nodes = 'a,n[3-1]'\n", "'n[3-1]'");
  ExpectRefusal(std::string(kKey) + "nodes = '../a'\n", "is no name of a node");
  ExpectRefusal(std::string(kKey) + "nodes = 'a=b:0'\n", "'a=b:0'");
  ExpectRefusal(std::string(kKey) + "nodes = 'a'\nport = 70000\n",
                "'port' needs a number from 1 to 65535");
  ExpectRefusal(std::string(kKey) + "nodes = 'a'\nsecurity = 'none'\n",
                "one of tls, files, plaintext");
  ExpectRefusal(std::string(kKey) + "nodes = 'a'\nsecurity = 'files'\n",
                "'tls-ca' is missing");
  ExpectRefusal(std::string(kKey) + "nodes = 'a'\nname = 'a/b'\n", "'a/b'");
  ExpectRefusal("nodes = \n", "cluster.toml:1");
  EXPECT_EQ(ReadClusterFile("/nonexistent").code(), kErrNotFound);
}

TEST(ClusterFileTest, AMachineFindsItselfByItsWholeOrItsShortName) {
  const Result<ClusterFile> file =
      Read(std::string(kKey) + "nodes = 'a,b.one.org,c.one,c.two'\n");
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(FindClusterNode(*file, "a.one.org"), 0u);
  EXPECT_EQ(FindClusterNode(*file, "b"), 1u);
  EXPECT_EQ(FindClusterNode(*file, "c.two"), 3u);
  EXPECT_EQ(FindClusterNode(*file, "c.three"), std::nullopt);
  EXPECT_EQ(FindClusterNode(*file, "d"), std::nullopt);
}

TEST(ClusterFileTest, TheNodesMayComeFromElsewhere) {
  Result<ClusterFile> file =
      Read(std::string(kKey) + "nodes-from = 'batch-job'\n");
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(file->nodes_from, NodesFrom::kBatchJob);
  EXPECT_TRUE(file->nodes.empty());
  EXPECT_EQ(file->control_port, file->port + 1);
  file = Read(std::string(kKey) + "nodes-from = 'dns:agents.org'\nport = 9\n");
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(file->nodes_from, NodesFrom::kDns);
  EXPECT_EQ(file->dns_name, "agents.org");
  EXPECT_EQ(file->port, 9u);
}

TEST(ClusterFileTest, OneSourceOfNodesIsNamed) {
  ExpectRefusal(std::string(kKey) + "nodes-from = 'dns:a'\nnodes = 'b'\n",
                "only one can be given");
  ExpectRefusal(std::string(kKey) + "nodes-from = 'dns:'\n", "dns:NAME");
  ExpectRefusal(std::string(kKey) + "nodes-from = 'magic'\n", "dns:NAME");
  ExpectRefusal(
      std::string(kKey) + "nodes-from = 'dns:a'\nsecurity = 'plaintext'\n",
      "with nodes from DNS");
}

}  // namespace
}  // namespace canopy
