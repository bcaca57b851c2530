#include "server/kubernetes/api/api_server.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>

namespace canopy::kubernetes {
namespace {

class ApiServerTest : public testing::Test {
 protected:
  ApiServerTest() {
    std::string pattern = testing::TempDir() + "/api_serverXXXXXX";
    directory_ = mkdtemp(pattern.data());
    Write("ca.crt");
    Write("token");
  }
  ~ApiServerTest() override { std::filesystem::remove_all(directory_); }

  void Write(const std::string& file) {
    std::ofstream(directory_ + "/" + file) << "text";
  }
  Result<ApiServer> Server(const std::map<std::string, std::string>& set) {
    return InClusterServer(
        [&](const char* name) {
          const auto found = set.find(name);
          return found == set.end() ? nullptr : found->second.c_str();
        },
        directory_);
  }
  Result<ApiServer> ServerAt(const std::string& host, const std::string& port) {
    return Server(
        {{"KUBERNETES_SERVICE_HOST", host}, {"KUBERNETES_SERVICE_PORT", port}});
  }

  std::string directory_;
};

TEST_F(ApiServerTest, FindsTheServerOfThePodsCluster) {
  const auto server = ServerAt("10.96.0.1", "443");
  ASSERT_TRUE(server.ok()) << server.status().message();
  EXPECT_EQ(server->url, "https://10.96.0.1:443");
  EXPECT_EQ(server->ca_file, directory_ + "/ca.crt");
  EXPECT_EQ(server->token_file, directory_ + "/token");
  EXPECT_EQ(ServerAt("fd00::1", "6443")->url, "https://[fd00::1]:6443");
  EXPECT_EQ(ServerAt("api.test", "1")->url, "https://api.test:1");
}

TEST_F(ApiServerTest, ReportsAProcessThatIsNotInAPod) {
  EXPECT_EQ(Server({}).code(), kErrNotFound);
  EXPECT_EQ(Server({{"KUBERNETES_SERVICE_HOST", "10.96.0.1"}}).code(),
            kErrNotFound);
  EXPECT_EQ(Server({{"KUBERNETES_SERVICE_PORT", "443"}}).code(), kErrNotFound);
}

TEST_F(ApiServerTest, ReportsAPodWithoutAServiceAccount) {
  std::filesystem::remove(directory_ + "/token");
  const auto server = ServerAt("10.96.0.1", "443");
  EXPECT_EQ(server.code(), kErrNotFound);
  EXPECT_NE(server.status().message().find("/token"), std::string::npos);
}

TEST_F(ApiServerTest, RejectsAddressesThatCannotStandInAUrl) {
  for (const char* host : {"", "a/b", "a@b", "a b", "[::1]", "a?b"}) {
    EXPECT_EQ(ServerAt(host, "443").code(), kErrBadParam) << host;
  }
  for (const char* port : {"", "0", "65536", "https", "443/"}) {
    EXPECT_EQ(ServerAt("10.96.0.1", port).code(), kErrBadParam) << port;
  }
}

}  // namespace
}  // namespace canopy::kubernetes
