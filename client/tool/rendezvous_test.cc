#include "client/tool/rendezvous.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace canopy::client {
namespace {

class RendezvousTest : public testing::Test {
 protected:
  RendezvousTest() {
    directory_ = testing::TempDir() + "/rendezvous-XXXXXX";
    EXPECT_NE(mkdtemp(directory_.data()), nullptr);
    prefix_ = std::string("pmix.") + kHost + ".tool";
  }
  ~RendezvousTest() override { std::filesystem::remove_all(directory_); }

  std::string Write(const std::string& name, const std::string& text) const {
    const std::string path = directory_ + "/" + name;
    std::ofstream(path) << text;
    return path;
  }

  static constexpr char kHost[] = "a.host";
  static constexpr char kText[] =
      "agents.3;tcp4://127.0.0.1:4711\nv4.2.2\n77\n0:0\nMon\n"
      "canopy:/run/clients.sock\n";
  std::string directory_;
  std::string prefix_;
};

TEST_F(RendezvousTest, AFileDescribesItsServer) {
  const Result<ServerContact> contact =
      ReadRendezvousFile(Write("file", kText));
  ASSERT_TRUE(contact.ok()) << contact.status().message();
  EXPECT_EQ(contact->server, (ProcId{"agents", 3}));
  EXPECT_EQ(contact->uri, "agents.3;tcp4://127.0.0.1:4711");
  EXPECT_EQ(contact->pids, std::vector<int>{77});
  EXPECT_EQ(contact->socket, "/run/clients.sock");
  const Result<ServerContact> other =
      ReadRendezvousFile(Write("file", "a.b.1;tcp4://127.0.0.1:1"));
  ASSERT_TRUE(other.ok());
  EXPECT_EQ(other->server, (ProcId{"a.b", 1}));
  EXPECT_TRUE(other->pids.empty());
  EXPECT_TRUE(other->socket.empty());
}

TEST_F(RendezvousTest, MalformedRendezvousFilesAreRejected) {
  for (const char* text : {"", "\n", "agents.3", "agents;tcp4://x", ".3;x",
                           "agents.x;x", "agents.;x"}) {
    EXPECT_EQ(ReadRendezvousFile(Write("file", text)).code(), kErrBadParam)
        << text;
  }
  EXPECT_EQ(ReadRendezvousFile(directory_ + "/none").code(), kErrNotFound);
  EXPECT_EQ(ReadRendezvousFile(directory_).code(), kErrBadParam);
  const std::string fifo = directory_ + "/fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_EQ(ReadRendezvousFile(fifo).code(), kErrBadParam);
}

TEST_F(RendezvousTest, ASearchFindsEachServerOnce) {
  Write(prefix_ + ".77", kText);
  Write(prefix_, kText);
  std::filesystem::create_directory(directory_ + "/below");
  Write("below/" + prefix_ + ".1", "others.0;tcp4://127.0.0.1:1");
  Write("below/another.file", "nobody.0;tcp4://127.0.0.1:2");
  const auto found = SearchRendezvous(directory_, kHost);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].server.nspace, "others");
  EXPECT_EQ(found[1].server.nspace, "agents");
  EXPECT_TRUE(SearchRendezvous(directory_, "other.host").empty());
  EXPECT_TRUE(SearchRendezvous("/nowhere/at/all", kHost).empty());
}

TEST_F(RendezvousTest, AServerIsAlsoKnownByThePidsInItsFilesNames) {
  std::filesystem::create_directory(directory_ + "/0");
  Write("0/" + prefix_, kText);
  Write("0/" + prefix_ + ".77", kText);
  Write("0/" + prefix_ + ".agents", kText);
  Write(prefix_ + ".4711", kText);
  const auto found = SearchRendezvous(directory_, kHost);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].pids, (std::vector<int>{77, 4711}));
}

TEST_F(RendezvousTest, TheFileOfADirectoryThatIsNotReadableIsFound) {
  if (geteuid() != 0) GTEST_SKIP() << "root makes the file of another user";
  char top[] = "/tmp/rendezvous-XXXXXX";
  ASSERT_NE(mkdtemp(top), nullptr);
  directory_ = top;
  ASSERT_EQ(chmod(top, 0711), 0);
  const std::string file = Write(prefix_, kText);
  ASSERT_EQ(chmod(file.c_str(), 0644), 0);
  constexpr uid_t kNobody = 65534;
  ASSERT_EQ(seteuid(kNobody), 0);
  const auto found = SearchRendezvous(directory_, kHost);
  ASSERT_EQ(seteuid(0), 0);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].server, (ProcId{"agents", 3}));
}

TEST_F(RendezvousTest, ASearchFollowsNoLinks) {
  const std::string elsewhere = Write("elsewhere", kText);
  std::filesystem::create_symlink(elsewhere, directory_ + "/" + prefix_ + ".1");
  std::filesystem::create_directory_symlink(directory_, directory_ + "/loop");
  EXPECT_TRUE(SearchRendezvous(directory_, kHost).empty());
  EXPECT_TRUE(ReadRendezvousFile(directory_ + "/" + prefix_ + ".1").ok());
}

TEST_F(RendezvousTest, DirectoriesOfServersAreFoundByTheirNames) {
  for (const char* name : {"/canopy-b", "/canopy-a", "/another"}) {
    std::filesystem::create_directory(directory_ + name);
  }
  Write("canopy-file", kText);
  std::filesystem::create_directory_symlink(directory_,
                                            directory_ + "/canopy-link");
  EXPECT_EQ(ServerDirectoriesIn(directory_),
            (std::vector<std::string>{directory_ + "/canopy-a",
                                      directory_ + "/canopy-b"}));
  EXPECT_TRUE(ServerDirectoriesIn("/nowhere/at/all").empty());
}

}  // namespace
}  // namespace canopy::client
