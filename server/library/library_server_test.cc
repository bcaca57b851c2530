#include "server/library/library_server.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "common/status.h"
#include "server/library/environments.h"
#include "server/library/library_testing.h"

namespace canopy::library {
namespace {

class LibraryServerTest : public testing::Test {
 protected:
  LibraryServerTest() {
    char name[] = "/tmp/library_server_test.XXXXXX";
    directory_ = mkdtemp(name);
  }
  ~LibraryServerTest() override {
    server_.reset();
    std::filesystem::remove_all(directory_);
  }

  void Start(bool tools = false) {
    LibraryServerOptions options;
    options.self = {"server", 0};
    options.directory = directory_;
    options.node_names = {"n1"};
    options.tools = tools;
    options.raise = [](const HostEvent&) {};
    auto server = LibraryServer::Start(std::move(options));
    ASSERT_TRUE(server.ok()) << server.status().message();
    server_ = *std::move(server);
  }
  // Starts an operation and returns its status.
  template <typename Begin>
  int Status(Begin&& begin) {
    std::promise<int> done;
    begin([&](int status) { done.set_value(status); });
    return done.get_future().get();
  }
  int Register(const std::string& nspace) {
    return Status([&](LibraryServer::Done done) {
      server_->RegisterJob(JobOfTwoNodes(nspace), std::move(done));
    });
  }
  int AddClient(const ProcId& proc) {
    return Status([&](LibraryServer::Done done) {
      server_->RegisterClient(proc, getuid(), getgid(), nullptr,
                              std::move(done));
    });
  }
  int Deregister(const std::string& nspace) {
    return Status([&](LibraryServer::Done done) {
      server_->DeregisterJob(nspace, std::move(done));
    });
  }
  static bool Has(const Environments::Entries& entries,
                  const std::string& entry) {
    return std::ranges::count(entries, entry) > 0;
  }

  std::string directory_;
  std::unique_ptr<LibraryServer> server_;
};

TEST_F(LibraryServerTest, AddedClientsHaveTheirNameInTheEnvironment) {
  Start();
  EXPECT_EQ(Register("job"), kSuccess);
  EXPECT_TRUE(Environments::OfProcess().Of({"job", 0}).empty());
  EXPECT_EQ(AddClient({"job", 0}), kSuccess);
  const auto entries = Environments::OfProcess().Of({"job", 0});
  EXPECT_TRUE(Has(entries, "PMIX_NAMESPACE=job"));
  EXPECT_TRUE(Has(entries, "PMIX_RANK=0"));
  EXPECT_TRUE(std::ranges::none_of(entries, [](const std::string& entry) {
    return entry.starts_with("OMPI_");
  }));
  EXPECT_TRUE(Environments::OfProcess().Of({"job", 3}).empty());
}

TEST_F(LibraryServerTest, ClientsCanBeAddedBeforeTheirJob) {
  Start();
  EXPECT_EQ(AddClient({"job", 1}), kSuccess);
  EXPECT_EQ(Register("job"), kSuccess);
  EXPECT_FALSE(Environments::OfProcess().Of({"job", 1}).empty());
}

TEST_F(LibraryServerTest, ANamespaceCanBeRegisteredAgainOnlyAfterItsEnd) {
  Start();
  EXPECT_EQ(Register("job"), kSuccess);
  EXPECT_EQ(Register("job"), kErrExists);
  EXPECT_NE(server_->Told("job"), nullptr);
  EXPECT_EQ(Deregister("job"), kSuccess);
  EXPECT_EQ(server_->Told("job"), nullptr);
  EXPECT_EQ(Register("job"), kSuccess);
  EXPECT_EQ(Deregister("other"), kSuccess);
}

TEST_F(LibraryServerTest, DeregistrationAnswersPendingRequestsOfPeers) {
  Start();
  EXPECT_EQ(Register("job"), kSuccess);
  EXPECT_EQ(AddClient({"job", 0}), kSuccess);
  std::promise<int> answered;
  server_->GetCommitted({"job", 0}, [&](int status, const std::string&) {
    answered.set_value(status);
  });
  EXPECT_EQ(Deregister("job"), kSuccess);
  EXPECT_EQ(answered.get_future().get(), kErrNotFound);
}

TEST_F(LibraryServerTest, ASetIsDefinedOnce) {
  Start();
  EXPECT_EQ(Register("job"), kSuccess);
  EXPECT_EQ(server_->DefineSet("set", {{"job", 0}}), kSuccess);
  EXPECT_EQ(server_->DefineSet("set", {{"job", 0}}), kErrExists);
  EXPECT_EQ(server_->DeleteSet("set"), kSuccess);
  EXPECT_EQ(server_->DeleteSet("set"), kErrNotFound);
}

TEST_F(LibraryServerTest, DeliverOutputSucceedsWithoutAReader) {
  Start();
  EXPECT_EQ(Status([&](LibraryServer::Done done) {
              server_->DeliverOutput({{"job", 0}, 2, Bytes(std::string("x"))},
                                     std::move(done));
            }),
            kSuccess);
}

TEST_F(LibraryServerTest, CallbacksRunInTheServersThread) {
  Start();
  EXPECT_FALSE(server_->InThread());
  std::promise<bool> inside;
  server_->DeregisterJob("none",
                         [&](int) { inside.set_value(server_->InThread()); });
  EXPECT_TRUE(inside.get_future().get());
}

TEST_F(LibraryServerTest, AnEndedServerLeavesNoFilesAndCanRestart) {
  for (int i = 0; i < 3; ++i) {
    Start();
    EXPECT_EQ(Register("job"), kSuccess);
    EXPECT_EQ(AddClient({"job", 0}), kSuccess);
    server_.reset();
    EXPECT_TRUE(Environments::OfProcess().Of({"job", 0}).empty());
    EXPECT_FALSE(std::filesystem::exists(directory_ + "/clients.sock"));
  }
}

TEST_F(LibraryServerTest, AMissingDirectoryPreventsTheStart) {
  LibraryServerOptions options;
  options.self = {"server", 0};
  options.directory = directory_ + "/missing";
  options.node_names = {"n1"};
  EXPECT_FALSE(LibraryServer::Start(std::move(options)).ok());
}

}  // namespace
}  // namespace canopy::library
